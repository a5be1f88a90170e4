import { sql } from 'kysely';
import type { ActivityDeps } from '../activities/deps.ts';
import { query } from '../db/query.ts';
import type { ReadLimits } from '../networks/network-entry.ts';
import { forEachLimit } from '../runtime/concurrency.ts';
import { describeError } from '../runtime/logger.ts';
import { repeat } from '../runtime/timers.ts';

type LimitsDeps = Pick<ActivityDeps, 'orm' | 'egress' | 'log' | 'now'> & {
  /** By platform. */
  readonly limits: Readonly<Record<string, ReadLimits>>;
};

/** Milliseconds between requests to a server, between rounds, and between rounds while one takes less than is due. */
const [ageMs, intervalMs, soonMs] = [24 * 60 * 60_000, 60 * 60_000, 60_000];
const [perRound, width] = [20, 4];

/** Reads servers' limits once a day, so that posts are validated against current ones. @returns a function that stops it. */
export function keepLimits(deps: LimitsDeps): () => Promise<void> {
  const round = async (): Promise<number> => {
    try {
      return (await refreshLimits(deps)) < perRound ? intervalMs : soonMs;
    } catch (error) {
      deps.log.warn({ err: describeError(error) }, 'could not refresh server limits');
      return intervalMs;
    }
  };
  return repeat(round).stop;
}

/** Runs one round. @returns the number of servers. */
export async function refreshLimits(deps: LimitsDeps): Promise<number> {
  const { orm, egress, limits, log } = deps;
  const servers = await claimServers(deps);
  await forEachLimit(servers, width, async ({ platform, base_url: baseUrl }) => {
    try {
      const fetched = JSON.stringify((await limits[platform]?.(egress, baseUrl)) ?? {});
      await query(
        orm.em.fork(),
        sql`update channels set settings = settings || ${fetched}::jsonb
          where platform = ${platform} and base_url = ${baseUrl} and disconnected_at is null`,
      );
    } catch (error) {
      log.info({ platform, baseUrl, err: describeError(error) }, 'could not fetch server limits');
    }
  });
  return servers.length;
}

type Server = { readonly platform: string; readonly base_url: string };

/** Claims due servers, across workspaces, by storing the time of the request in their channels. */
function claimServers({ orm, limits, now }: LimitsDeps): Promise<Server[]> {
  const askedAt = now();
  const before = new Date(askedAt.getTime() - ageMs);
  return query<Server>(
    orm.em.fork(),
    sql`with due as (
        select distinct platform, base_url from channels
        where platform = any(${Object.keys(limits)}) and disconnected_at is null and jsonb_typeof(settings) = 'object'
          and coalesce(settings ->> 'limitsAskedAt', '') <= ${before.toISOString()}
        limit ${perRound}
      ), claimed as (
        update channels c
        set settings = c.settings || jsonb_build_object('limitsAskedAt', ${askedAt.toISOString()}::text)
        from due
        where c.platform = due.platform and c.base_url = due.base_url
          and jsonb_typeof(c.settings) = 'object'
      )
      select platform, base_url from due`,
  );
}
