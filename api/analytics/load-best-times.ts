import { sql, type RawBuilder } from 'kysely';
import { DriverException } from '@mikro-orm/core';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { BestTime } from './report-schemas.ts';
import { matchesFilter, type Filter } from './selection.ts';

type TimeRow = Omit<BestTime, 'average'> & { readonly unread: number };

export type BestTimes = {
  readonly posts_without_metrics: number;
  readonly times: readonly BestTime[];
};

/**
 * Returns engagement by weekday and hour of publishing. A post counts once the metrics of one channel are known,
 * because some channels never report any. Posts without metrics are only counted.
 *
 * @param timezone IANA name.
 * @throws AppError `invalid_request` for an unknown time zone.
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

/** PostgreSQL's code for an unknown time zone. */
const invalidParameter = '22023';

/** The three-letter names of IANA. Others (`PST`, `BST`, `IST`) are ambiguous abbreviations. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/iv;

/**
 * Returns a name that PostgreSQL resolves to the same zone. It reads a single word such as `CET` as an abbreviation
 * without summer time. The result is a name, not an offset, because PostgreSQL inverts the sign of an offset.
 *
 * @returns null when the name is not from IANA.
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
  const message = `is not a known time zone: ${JSON.stringify(timezone)}. Give an IANA name, such as Europe/Berlin`;
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
    from post_metrics pm where ${matchesFilter(filter)}
  ) measured
  group by 1, 2 order by 1, 2`;
