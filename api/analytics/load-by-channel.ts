import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import type { ByChannel } from './report-schemas.ts';
import type { Totals } from './schemas.ts';
import { isWithin, selectSums } from './selection.ts';

type Range = { readonly begin: number; readonly end: number };

type ChannelRow = Totals &
  Pick<ByChannel, 'channel_id' | 'platform' | 'handle' | 'followers'> & {
    readonly followers_updated_at: Date | null;
    /** Engagement of the posts with known views. */
    readonly seen_engagement: number;
  };

/** Every connected channel, and disconnected ones with posts in the range, in order of creation. */
export async function loadByChannel(
  em: Em,
  workspaceId: string,
  range: Range,
): Promise<ByChannel[]> {
  const rows = await queryPlanned(em, selectByChannel(workspaceId, range));
  return rows.map((row) => ({
    channel_id: row.channel_id,
    platform: row.platform,
    handle: row.handle,
    totals: {
      posts: row.posts,
      posts_without_metrics: row.posts_without_metrics,
      impressions: row.impressions,
      likes: row.likes,
      comments: row.comments,
      shares: row.shares,
      saves: row.saves,
      engagement: row.engagement,
    },
    engagement_rate: row.impressions ? row.seen_engagement / row.impressions : null,
    followers: row.followers,
    followers_updated_at: row.followers_updated_at?.toISOString() ?? null,
  }));
}

const selectByChannel = (workspaceId: string, range: Range): RawBuilder<ChannelRow> => sql`
  select c.id as channel_id, c.platform, c.handle, c.followers, c.followers_updated_at, s.*
  from channels c
  cross join lateral (
    select ${selectSums},
      coalesce(sum(pm.likes + pm.comments + pm.shares + pm.saves) filter (where pm.with_impressions > 0), 0)::float8
        as seen_engagement
    from post_metrics pm
    where pm.workspace_id = c.workspace_id and pm.scope = c.id::text and ${isWithin(range)}
  ) s
  where c.workspace_id = ${workspaceId} and (c.disconnected_at is null or s.posts > 0)
  order by c.id`;
