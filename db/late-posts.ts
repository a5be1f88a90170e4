import { sql, type RawBuilder } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import { isOpenChannel } from './channel-status.ts';
import type { Em } from './orm.ts';
import { dueAt, isOpenPost } from './post-status.ts';
import { query } from './query.ts';

export type LatePosts = {
  readonly posts: number;
  /** Lateness of the oldest; null without late posts. */
  readonly oldest_seconds: number | null;
  readonly channels: readonly {
    /**
     * `waiting`: nothing was sent yet. `sending`: an attempt sends. `paced` and `retrying`: the next one is planned.
     * `finishing`: every channel of the post has ended, and its last step waits.
     */
    readonly reason: 'waiting' | 'sending' | 'paced' | 'retrying' | 'finishing';
    /** Why the last attempt failed; null unless `retrying`. */
    readonly code: ChannelErrorCode | null;
    readonly platform: string;
    readonly channels: number;
    readonly oldest_seconds: number;
  }[];
};

/** Bounds the cost of a call. The oldest posts are counted first. */
const mostPosts = 50_000;

type Lateness = { now: RawBuilder<Date>; lateByMs: number; workspaceId?: string | undefined };

/** Counts all posts that are late, by reason, along the index `posts_due`. */
export async function countLatePosts(
  em: Em,
  { now, lateByMs, workspaceId }: Lateness,
): Promise<LatePosts> {
  const ofWorkspace = workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`;
  const [row] = await query<LatePosts>(
    em,
    sql`with late as (
        select p.id, p.workspace_id, floor(extract(epoch from ${now} - ${dueAt('p')}))::int as seconds from posts p
        where ${isOpenPost('p')} and ${dueAt('p')} < ${now} - ${lateByMs}::int * interval '1 millisecond' ${ofWorkspace}
        order by ${dueAt('p')} limit ${sql.lit(mostPosts)}),
      open as (
        select case when not is_open then 'finishing' when status = 'scheduled' then 'waiting'
            when status = 'publishing' then 'sending' when error_code = 'paced' then 'paced' else 'retrying' end as reason,
          nullif(case status when 'retrying' then error_code end, 'paced') as code, platform, seconds
        from (
          select late.seconds, pc.status, pc.error_code, c.platform, ${isOpenChannel} as is_open,
            bool_or(${isOpenChannel}) over (partition by late.id) as has_open
          from late join post_channels pc on pc.post_id = late.id and pc.workspace_id = late.workspace_id
          join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id) each
        where is_open or not has_open),
      counted as (
        select reason, code, platform, count(*)::int as channels, max(seconds) as oldest_seconds
        from open group by reason, code, platform order by oldest_seconds desc, reason, code, platform)
      select (select count(*)::int from late) as posts, (select max(seconds) from late) as oldest_seconds,
        (select coalesce(json_agg(counted), '[]') from counted) as channels`,
  );
  return row ?? { posts: 0, oldest_seconds: null, channels: [] };
}
