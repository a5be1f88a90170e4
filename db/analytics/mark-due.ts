import { sql } from 'kysely';
import { leaseMs, regularReadsMs } from '../../domain/metrics-schedule.ts';
import type { RulesByPlatform } from '../../networks/content-rules.ts';
import type { Platform } from '../../networks/registry.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';

export const refreshStates = ['queued', 'not_yet', 'gone', 'not_read'] as const;
type RefreshState = (typeof refreshStates)[number];

type DueChannel = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly refresh: RefreshState;
  readonly next_at: Date | null;
};

/** Metrics younger than this are not read again. */
const minIntervalMs = 60_000;

/** The longest rate limit of a network. */
const longestLimitMs = 24 * 3_600_000;

/** Tolerance for a worker's clock that is ahead. */
const clockSkewMs = 5000;

type Asked = {
  readonly rules: RulesByPlatform;
  readonly askedAt: Date;
  readonly workspaceId: string;
  readonly postId: string;
};

/**
 * Selects the published channels and makes them due. A channel of a network with rare reads becomes due at its next
 * allowed time, if that is sooner.
 *
 * Where reads are rare because they cost money, `next_metrics_at` stays in two cases. It may be the end of a lease:
 * the post may be being read now and would be read twice. Or it is at most a day away and not a regular time: a rate
 * limit or a pause after a refusal that this post met, during which every read counts too.
 */
export function markDue(
  em: Em,
  { rules, askedAt, workspaceId, postId }: Asked,
): Promise<DueChannel[]> {
  const rare = Object.entries(rules).map(([platform, { metricsEveryMs = 0 }]) => ({
    platform,
    metricsEveryMs,
  }));
  const rested = new Date(askedAt.getTime() - minIntervalMs);
  const leased = new Date(askedAt.getTime() + leaseMs + clockSkewMs);
  const limited = new Date(askedAt.getTime() + longestLimitMs);
  return query(
    em,
    sql<DueChannel>`
    with asked as materialized (
      select pc.id, c.id as channel_id, c.platform, pc.position, pc.next_metrics_at, early.until as early_until, case
          when pc.gone_at is not null then 'gone'
          when c.disconnected_at is not null or c.state <> 'connected' or not exists (
            select 1 from post_parts pp where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id
              and pp.part = 0 and pp.state = 'sent' and pp.remote_id is not null) then 'not_read'
          when early.until > ${askedAt} then 'rare'
          when early.until is not null and pc.next_metrics_at > ${askedAt} and (pc.next_metrics_at <= ${leased}
            or pc.next_metrics_at <= ${limited} and pc.next_metrics_at - early.since <> all (
              select ms * interval '1 millisecond' from unnest(${regularReadsMs}::float8[]) as regular (ms))) then 'not_yet'
          when pc.metrics_updated_at > ${rested} then 'not_yet'
          else 'queued' end as refresh
      from post_channels pc
      join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      left join lateral (
        select since, since + ms * interval '1 millisecond' as until
        from (select coalesce(pc.metrics_updated_at, pc.published_at)) as last (since), unnest(${rare.map(({ platform }) => platform)}::text[],
          ${rare.map(({ metricsEveryMs }) => metricsEveryMs)}::float8[]) as every (platform, ms)
        where every.platform = c.platform and ms > 0
      ) early on true
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.status = 'published'
      order by pc.id for no key update of pc
    ), moved as (
      update post_channels pc set next_metrics_at = case asked.refresh when 'rare' then asked.early_until else ${askedAt} end
      from asked where pc.id = asked.id and (asked.refresh = 'queued'
        or asked.refresh = 'rare' and (pc.next_metrics_at is null or pc.next_metrics_at > asked.early_until)))
    select channel_id, platform, case refresh when 'rare' then 'not_yet' else refresh end as refresh,
      case refresh when 'queued' then ${askedAt}::timestamptz when 'rare' then early_until
        when 'not_yet' then next_metrics_at end as next_at
    from asked order by position`,
  );
}
