import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { Em, Orm } from '../../db/orm.ts';

/** Which posts: those that ended in this time, with channels that failed for one of these reasons. */
export type Window = {
  readonly since: Date;
  readonly until: Date | null;
  readonly codes: readonly ChannelErrorCode[];
  readonly workspaceId: string | null;
};

export type FailedPost = {
  readonly postId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
  /** The codes of its failed channels that are among those that were asked for, and of the others. */
  readonly retried: readonly string[];
  readonly leftOut: readonly string[];
  /** Those that are retried. */
  readonly channelIds: readonly string[];
};

type PostRow = { id: string; workspace_id: string; plan: string | null };
type ChannelRow = { post_id: string; channel_id: string; code: string };

/** In one go. */
const pageSize = 500;

/**
 * The posts that failed, in the order in which they were due. They are found before any of them is retried, so that none
 * that fails anew meanwhile comes a second time.
 */
export async function* failedPosts(orm: Orm, window: Window): AsyncGenerator<FailedPost> {
  const { since, until, workspaceId } = window;
  const em = orm.em.fork();
  const posts = await em.execute<PostRow[]>(
    `select p.id, p.workspace_id, w.plan from posts p join workspaces w on w.id = p.workspace_id
     where p.status = 'failed' and p.updated_at >= ? and p.updated_at < ?
       ${workspaceId === null ? '' : 'and p.workspace_id = ?'}
     order by coalesce(p.retried_at, p.scheduled_at), p.id`,
    [since, until ?? 'infinity', ...(workspaceId === null ? [] : [workspaceId])],
  );
  for (let from = 0; from < posts.length; from += pageSize) {
    const page = posts.slice(from, from + pageSize);
    const channels = await failedChannels(em, page);
    for (const { id, workspace_id: owner, plan } of page) {
      const failed = channels.get(id) ?? [];
      const codes = failed.map(({ code }) => code);
      const isAsked = (code: string): boolean => window.codes.some((asked) => asked === code);
      yield {
        postId: id,
        workspaceId: owner,
        plan,
        retried: codes.filter(isAsked),
        leftOut: codes.filter((code) => !isAsked(code)),
        channelIds: failed.filter(({ code }) => isAsked(code)).map((row) => row.channel_id),
      };
    }
  }
}

async function failedChannels(
  em: Em,
  posts: readonly PostRow[],
): Promise<Map<string, ChannelRow[]>> {
  const rows = await em.execute<ChannelRow[]>(
    `select post_id, channel_id, coalesce(error_code, 'internal') as code from post_channels
     where post_id in (?) and status in ('failed', 'unconfirmed') order by position`,
    [posts.map(({ id }) => id)],
  );
  return Map.groupBy(rows, (row) => row.post_id);
}
