import { sql, type RawBuilder } from 'kysely';
import { DriverException } from '@mikro-orm/core';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { BestTime } from './report-schemas.ts';
import { isMeant, type Filter } from './selection.ts';

type TimeRow = Omit<BestTime, 'average'> & { readonly unread: number };

export type BestTimes = {
  readonly posts_without_metrics: number;
  readonly times: readonly BestTime[];
};

/**
 * Engagement by weekday and hour of publishing, as far as it is known: a post counts as soon as one of its channels was
 * read, for there are channels that never are. Posts of which none was read are left out and counted.
 *
 * @param timezone By its IANA name.
 * @throws AppError `invalid_request` for a time zone that is not known.
 */
export async function loadBestTimes(em: Em, filter: Filter, timezone: string): Promise<BestTimes> {
  const zone = zoneNamed(timezone);
  if (zone === null) {
    throw unknownZone(timezone);
  }

  const rows = await queryPlanned(em, selectTimes(filter, zone)).catch((error: unknown) => {
    const isUnknown = error instanceof DriverException && error.code === invalidParameter;
    throw isUnknown ? unknownZone(timezone) : error;
  });
  return {
    posts_without_metrics: rows.reduce((sum, { unread }) => sum + unread, 0),
    times: rows
      .filter(({ posts }) => posts > 0)
      .map(({ weekday, hour, posts, engagement }) => ({
        weekday,
        hour,
        posts,
        engagement,
        average: engagement / posts,
      })),
  };
}

/** What PostgreSQL answers to a name that it does not know. */
const invalidParameter = '22023';

/** Of three letters, those that IANA has. Of others (`PST`, `BST`, `IST`) each system means something else. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/iv;

/**
 * The name by which PostgreSQL means the same: it takes a single word such as `CET` for an abbreviation first, which has
 * no summer time. A name, not an offset: PostgreSQL reads the sign of one the other way round.
 *
 * @returns null for what is no name of IANA's.
 */
function zoneNamed(name: string): string | null {
  if (!/^[A-Za-z]/v.test(name) || (name.length === 3 && !shortNames.test(name))) {
    return null;
  }

  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return name.includes('/') ? name : timeZone;
  } catch {
    return null;
  }
}

function unknownZone(timezone: string): AppError {
  const message = `is no time zone that is known: ${JSON.stringify(timezone)}. Give an IANA name, such as Europe/Berlin`;
  return new AppError('invalid_request', `?timezone ${message}.`, {
    details: [{ path: '?timezone', message }],
  });
}

const selectTimes = (filter: Filter, timezone: string): RawBuilder<TimeRow> => sql`
  select extract(isodow from at)::int as weekday, extract(hour from at)::int as hour,
    (count(*) filter (where is_read))::float8 as posts,
    (count(*) filter (where not is_read))::float8 as unread,
    coalesce(sum(engagement) filter (where is_read), 0)::float8 as engagement
  from (
    select pm.published_at at time zone ${timezone}::text as at, pm.unread < pm.channels as is_read,
      pm.likes + pm.comments + pm.shares + pm.saves as engagement
    from post_metrics pm where ${isMeant(filter)}
  ) measured
  group by 1, 2 order by 1, 2`;
