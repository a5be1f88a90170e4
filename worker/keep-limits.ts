import { sql } from 'kysely';
import { query } from '../db/query.ts';
import type { Orm } from '../db/orm.ts';
import type { ReadLimits } from '../networks/entry.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import { forEachLimit } from '../runtime/for-each-limit.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/repeat.ts';

type LimitsDeps = {
  readonly orm: Orm;
  readonly egress: Egress;
  /** By platform. */
  readonly limits: Readonly<Record<string, ReadLimits>>;
  readonly log: Logger;
  readonly now: () => Date;
};

/** A server is asked once in so long, in milliseconds, whether it answers or not. */
const ageMs = 24 * 60 * 60_000;
/** How often it is looked which servers are due. */
const intervalMs = 60 * 60_000;
/** When more of them are due than one round takes. */
const soonMs = 60_000;
const perRound = 20;
const width = 4;

/**
 * Asks servers for their limits once a day, so that posts are validated by what a server takes now: one may have raised
 * its limits since the account was connected. Without an answer the limits stay as they are.
 *
 * @returns stops it.
 */
export function keepLimits(deps: LimitsDeps): () => Promise<void> {
  const round = async (): Promise<number> => {
    try {
      return (await refreshLimits(deps)) < perRound ? intervalMs : soonMs;
    } catch (error) {
      deps.log.warn({ err: describeError(error) }, 'limits of servers: not refreshed');
      return intervalMs;
    }
  };
  return repeat(round).stop;
}

/** One round. @returns how many servers were asked. */
export async function refreshLimits(deps: LimitsDeps): Promise<number> {
  const { orm, egress, limits, log } = deps;
  const servers = await claimServers(deps);
  await forEachLimit(servers, width, async ({ platform, base_url: baseUrl }) => {
    try {
      const told = JSON.stringify((await limits[platform]?.(egress, baseUrl)) ?? {});
      await query(
        orm.em.fork(),
        sql`update channels set settings = settings || ${told}::jsonb
          where platform = ${platform} and base_url = ${baseUrl} and disconnected_at is null`,
      );
    } catch (error) {
      log.info({ platform, baseUrl, err: describeError(error) }, 'limits of a server: no answer');
    }
  });
  return servers.length;
}

type Server = { readonly platform: string; readonly base_url: string };

/** Those that are due, of all workspaces. Their channels say from now on when they were asked. */
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
