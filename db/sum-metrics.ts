import { sql, type RawBuilder } from 'kysely';
import type { PostChannel } from './entities/post-channels.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

/** SQL: the sum of a figure over channels; 0 where a network does not report it. */
const sumOf = (figure: string): RawBuilder<unknown> =>
  sql`coalesce(sum((pc.metrics->>${sql.lit(figure)})::float8::bigint), 0)`;

/**
 * Writes the sums of posts' metrics (`post_metrics`) anew from their channels: one row for all channels, for each
 * network and for each channel. Call it when a published channel or its metrics change, with the posts' locks.
 */
export async function sumMetrics(
  em: Em,
  workspaceId: string,
  postIds: readonly string[],
): Promise<void> {
  await query(em, sql`with ${summedMetrics(workspaceId, postIds)} select 1`);
}

/** Deletes the metrics by day of a channel that has another post on its network now. */
export async function forgetMetricDays(
  em: Em,
  { id, workspaceId }: Pick<PostChannel, 'id' | 'workspaceId'>,
): Promise<void> {
  await query(
    em,
    sql`delete from metric_days where post_channel_id = ${id} and workspace_id = ${workspaceId}`,
  );
}

/** SQL: the same as `sums`, `gone` and `summed` of a statement's `with`. The statement must not change the channels. */
export function summedMetrics(
  workspaceId: string,
  postIds: readonly string[],
): RawBuilder<unknown> {
  const [first, ...others] = postIds;
  // One plan serves each number of rows only if it is known to be one.
  const among = others.length === 0 ? sql`= ${first}::uuid` : sql`= any(${postIds}::uuid[])`;
  return sql`sums as materialized (
      select pc.post_id, scope, pc.workspace_id, min(pc.published_at) as published_at, count(*) as channels,
        count(*) filter (where pc.metrics_updated_at is null) as unread,
        count(pc.metrics->>'impressions') as with_impressions, ${sumOf('impressions')} as impressions,
        ${sumOf('likes')} as likes, ${sumOf('comments')} as comments, ${sumOf('shares')} as shares, ${sumOf('saves')} as saves
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      cross join unnest(array['all', c.platform, c.id::text]) as scope
      where pc.post_id ${among} and pc.workspace_id = ${workspaceId}
        and pc.status = 'published' and pc.published_at is not null
      group by pc.post_id, scope, pc.workspace_id),
    gone as (
      delete from post_metrics pm where pm.post_id ${among} and pm.workspace_id = ${workspaceId}
        and not exists (select from sums where sums.post_id = pm.post_id and sums.scope = pm.scope)),
    summed as (
      insert into post_metrics (post_id, scope, workspace_id, published_at, channels, unread, with_impressions,
        impressions, likes, comments, shares, saves)
      select post_id, scope, workspace_id, published_at, channels, unread, with_impressions,
        impressions, likes, comments, shares, saves from sums
      on conflict (post_id, scope) do update set published_at = excluded.published_at, channels = excluded.channels,
        unread = excluded.unread, with_impressions = excluded.with_impressions, impressions = excluded.impressions,
        likes = excluded.likes, comments = excluded.comments, shares = excluded.shares, saves = excluded.saves)`;
}
