import { sql } from 'kysely';
import { isOpenChannel } from './channel-status.ts';
import { hasOpenPart } from './ledger/parts.ts';
import type { Em } from './orm.ts';
import { dueAt, isOpenPost } from './post-status.ts';
import { queryPlanned } from './query.ts';
import type { ChannelKey } from './repositories/channels.ts';

/** Counts the posts that wait for a channel, and those with a request that may be under way. */
export async function countOpenPosts(em: Em, { workspaceId, channelId }: ChannelKey) {
  const isSending = sql`pc.status = 'publishing' and ${hasOpenPart}`;
  const [counts] = await queryPlanned(
    em,
    sql<{ scheduled: number; sending: number }>`
      select count(*) filter (where ${isOpenPost('p')} and not (${isSending}))::int as scheduled,
        count(*) filter (where ${isSending})::int as sending
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId}
        and ${isOpenChannel}`,
  );
  return counts ?? { scheduled: 0, sending: 0 };
}

/** Posts of which only the first are named, by due time. */
export type LostPosts = { readonly count: number; readonly postIds: readonly string[] };

/** Finds the ended posts that failed on a channel, in an attempt after `since`, because its access was lost. */
export async function findLostPosts(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  since: Date,
  most: number,
): Promise<LostPosts> {
  const rows = await queryPlanned(
    em,
    sql<{ id: string; count: number }>`
      select p.id, (count(*) over ())::int as count
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and pc.error_code = 'access_lost' and p.status = 'failed'
        and greatest(pc.tried_at, ${dueAt('p')}) > ${since}
      order by ${dueAt('p')}, p.id limit ${most}`,
  );
  return { count: rows[0]?.count ?? 0, postIds: rows.map(({ id }) => id) };
}
