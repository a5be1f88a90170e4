import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { startOfDay, type Days } from './days.ts';
import { metricsOf } from './read-metrics.ts';
import type { ChannelHistory } from './report-schemas.ts';

type HistoryRow = { readonly channels: readonly ChannelHistory[] };

/** Returns the metrics of a post per day. @throws AppError `not_found` */
export async function loadHistory(
  em: Em,
  workspaceId: string,
  postId: string,
  days: Days,
): Promise<ChannelHistory[]> {
  const [row] = await queryPlanned(em, selectHistory(workspaceId, postId, days));
  if (!row) {
    throw new AppError('not_found', `There is no post with the id "${postId}".`);
  }

  return row.channels.map((channel) => ({
    channel_id: channel.channel_id,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url,
    gone_at: channel.gone_at && new Date(channel.gone_at).toISOString(),
    days: channel.days.map(({ day, metrics }) => ({ day, metrics: metricsOf(metrics) })),
  }));
}

/** SQL: the day, computed from its epoch: PostgreSQL rejects dates of the year 0, which the contract allows. */
const dayAt = (day: string): RawBuilder<unknown> =>
  sql`(to_timestamp(${startOfDay(day) / 1000}::float8) at time zone 'UTC')::date`;

const selectHistory = (
  workspaceId: string,
  postId: string,
  { from, to }: Days,
): RawBuilder<HistoryRow> => sql`
  select coalesce((
    select jsonb_agg(jsonb_build_object(
      'channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle, 'url', pc.url, 'gone_at', pc.gone_at,
      'days', coalesce((
        select jsonb_agg(jsonb_build_object('day', d.day, 'metrics', d.metrics) order by d.day)
        from metric_days d
        where d.post_channel_id = pc.id and d.workspace_id = pc.workspace_id
          and d.day between ${dayAt(from)} and ${dayAt(to)}
      ), '[]')) order by pc.position, pc.id)
    from post_channels pc join channels c on c.id = pc.channel_id
    where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      and pc.status = 'published' and pc.published_at is not null
  ), '[]') as channels
  from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}`;
