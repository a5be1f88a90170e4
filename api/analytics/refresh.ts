import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import { leaseMs, regularReadsMs } from '../../domain/metrics-schedule.ts';
import type { Platform } from '../../networks/registry.ts';
import type { PostMetricsRequest } from '../../temporal/start-refresh.ts';
import type { ApiDeps } from '../deps.ts';
import { postNotFound } from '../posts/lock-post.ts';

export const refreshStates = ['queued', 'not_yet', 'gone', 'not_read'] as const;

export type RefreshedChannel = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly refresh: (typeof refreshStates)[number];
  readonly next_at: string | null;
};

type Row = Omit<RefreshedChannel, 'next_at'> & { readonly next_at: Date | null };

/** So young figures are not read again, in milliseconds. */
const restMs = 60_000;

/** A network's limit is taken to end within this, in milliseconds. */
const longestLimitMs = 24 * 3_600_000;

/** By which the clock of a worker may be ahead, in milliseconds. */
const clockSkewMs = 5000;

type RefreshDeps = Pick<ApiDeps, 'orm' | 'now' | 'rules'> & {
  readonly refreshPost: (request: PostMetricsRequest) => void;
};

/**
 * Makes the figures of a post's published channels due, and starts their refresh. When Temporal is away the schedule comes
 * to them. A network that is asked less often has it read when it may be; other limits are for the workers to keep.
 *
 * @returns what becomes of each published channel, in their order.
 * @throws AppError `not_found`
 */
export async function refreshPost(
  { orm, now, rules, refreshPost: start }: RefreshDeps,
  workspaceId: string,
  postId: string,
): Promise<RefreshedChannel[]> {
  const askedAt = now();
  const em = orm.em.fork();
  const [post] = await query(
    em,
    sql`select id from posts where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  const rows = await query(em, makeDue({ rules, askedAt, workspaceId, postId }));
  const queued = rows.filter(({ refresh }) => refresh === 'queued');
  if (queued.length > 0) {
    const networks = [...new Set(queued.map(({ platform }) => platform))];
    start({ workspaceId, postId, networks });
  }

  return rows.map(({ channel_id, platform, refresh, next_at: at }) => ({
    channel_id,
    platform,
    refresh,
    next_at: at?.toISOString() ?? null,
  }));
}

type Asked = Pick<ApiDeps, 'rules'> & {
  readonly askedAt: Date;
  readonly workspaceId: string;
  readonly postId: string;
};

/**
 * What is not read yet for its network's sake is read when it may be, if that is sooner than it would be. Where reads are
 * rare, as they cost something, a time that may be the end of a claim stays: the post may be being read at this moment,
 * and would be read twice. So does a time that is not a regular one, of a day at most: it ends a limit, or the pause after
 * a refusal, and each read before it would be counted too.
 */
function makeDue({ rules, askedAt, workspaceId, postId }: Asked): RawBuilder<Row> {
  const rare = Object.entries(rules).map(([platform, { metricsEveryMs = 0 }]) => ({
    platform,
    metricsEveryMs,
  }));
  const rested = new Date(askedAt.getTime() - restMs);
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
