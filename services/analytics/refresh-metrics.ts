import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import { leaseMs, regularReadsMs } from '../../domain/metrics-schedule.ts';
import type { PostMetricsRequest } from '../../domain/to-sync.ts';
import type { Platform } from '../../networks/registry.ts';
import type { ServiceDeps } from '../deps.ts';
import { postNotFound } from '../../domain/api-keys.ts';

export const refreshStates = ['queued', 'not_yet', 'gone', 'not_read'] as const;

type RefreshedChannel = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly refresh: (typeof refreshStates)[number];
  readonly next_at: string | null;
};

type Row = Omit<RefreshedChannel, 'next_at'> & { readonly next_at: Date | null };

/** Metrics younger than this are not read again, in milliseconds. */
const minIntervalMs = 60_000;

/** The longest rate limit of a network, in milliseconds. */
const longestLimitMs = 24 * 3_600_000;

/** Tolerance for a worker's clock that is ahead, in milliseconds. */
const clockSkewMs = 5000;

type Refreshed = {
  /** The published channels, in their order. */
  readonly channels: readonly RefreshedChannel[];
  /** The refresh to start; null when no channel is due. */
  readonly toRefresh: PostMetricsRequest | null;
};

/**
 * Makes the metrics of a post's published channels due. The caller starts their refresh; otherwise the schedule picks
 * them up. A channel of a network with rare reads is read at its next allowed time; workers enforce the
 * other limits.
 *
 * @throws AppError `not_found`
 */
export async function refreshPost(
  { orm, now, rules }: Pick<ServiceDeps, 'orm' | 'now' | 'rules'>,
  workspaceId: string,
  postId: string,
): Promise<Refreshed> {
  const askedAt = now();
  const em = orm.em.fork();
  const [post] = await query(
    em,
    sql`select id from posts where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  const rows = await query(em, markDue({ rules, askedAt, workspaceId, postId }));
  const queued = rows.filter(({ refresh }) => refresh === 'queued');
  const networks = [...new Set(queued.map(({ platform }) => platform))];
  return {
    channels: rows.map(({ channel_id, platform, refresh, next_at: at }) => ({
      channel_id,
      platform,
      refresh,
      next_at: at?.toISOString() ?? null,
    })),
    toRefresh: queued.length > 0 ? { workspaceId, postId, networks } : null,
  };
}

type Asked = Pick<ServiceDeps, 'rules'> & {
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
 * limit or a pause after a refusal, during which every read counts too.
 */
function markDue({ rules, askedAt, workspaceId, postId }: Asked): RawBuilder<Row> {
  const rare = Object.entries(rules).map(([platform, { metricsEveryMs = 0 }]) => ({
    platform,
    metricsEveryMs,
  }));
  const rested = new Date(askedAt.getTime() - minIntervalMs);
  const leased = new Date(askedAt.getTime() + leaseMs + clockSkewMs);
  const limited = new Date(askedAt.getTime() + longestLimitMs);
  return sql`
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
      order by pc.position for no key update of pc
    ), moved as (
      update post_channels pc set next_metrics_at = case asked.refresh when 'rare' then asked.early_until else ${askedAt} end
      from asked where pc.id = asked.id and (asked.refresh = 'queued'
        or asked.refresh = 'rare' and (pc.next_metrics_at is null or pc.next_metrics_at > asked.early_until)))
    select channel_id, platform, case refresh when 'rare' then 'not_yet' else refresh end as refresh,
      case refresh when 'queued' then ${askedAt}::timestamptz when 'rare' then early_until
        when 'not_yet' then next_metrics_at end as next_at
    from asked order by position`;
}
