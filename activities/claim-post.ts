import { isFinal } from '../domain/post-status.ts';
import type { ActivityDeps } from './deps.ts';

export type ClaimRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The workflow's clock, in milliseconds since 1970: one clock decides what is due. */
  readonly nowMs: number;
};

export type ClaimTarget = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
};

export type Claim =
  /** The post is ours to publish, on these channels: all that have no final result yet. */
  | {
      readonly kind: 'go';
      readonly targets: readonly ClaimTarget[];
      /** Every cancel, new time and retry raises it: while it stands, nobody has stopped this publishing. */
      readonly revision: number;
    }
  /** It was moved, and the message about it has not arrived. */
  | { readonly kind: 'not_due'; readonly revision: number; readonly dueAt: string }
  /** It is a draft, finished, or deleted. */
  | { readonly kind: 'gone' };

type PostRow = { status: string; scheduled_at: Date | null; revision: number };
type ChannelRow = { id: string; channel_id: string; platform: string; status: never };

/**
 * The moment from which a post cannot be edited any more: under the row's lock, it goes from `scheduled` to
 * `publishing`. Each channel follows when its own sending begins, so that a cancel knows which have not begun. Safe
 * to repeat: a post that is already publishing is claimed again, without its final channels.
 */
export async function claimPost(deps: ActivityDeps, request: ClaimRequest): Promise<Claim> {
  const { workspaceId, postId, nowMs } = request;
  return deps.orm.em.fork().transactional(async (em): Promise<Claim> => {
    const [post] = await em.execute<PostRow[]>(
      'select status, scheduled_at, revision from posts where id = ? and workspace_id = ? for update',
      [postId, workspaceId],
    );
    if (post?.status !== 'scheduled' && post?.status !== 'publishing') {
      return { kind: 'gone' };
    }

    const { revision } = post;
    // Only a scheduled post has to have a time: one that was cancelled, ended all the same and is retried has none.
    const dueAt = new Date(post.scheduled_at ?? 0);
    if (post.status === 'scheduled' && dueAt.getTime() > nowMs) {
      return { kind: 'not_due', revision, dueAt: dueAt.toISOString() };
    }

    await em.execute(
      `update posts set status = 'publishing', updated_at = ?
       where id = ? and workspace_id = ? and status = 'scheduled'`,
      [deps.now(), postId, workspaceId],
    );
    const channels = await em.execute<ChannelRow[]>(
      `select pc.id, pc.channel_id, c.platform, pc.status
       from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
       where pc.post_id = ? and pc.workspace_id = ? order by pc.position`,
      [postId, workspaceId],
    );
    const targets = channels
      .filter(({ status }) => !isFinal(status))
      .map((row) => ({ postChannelId: row.id, channelId: row.channel_id, network: row.platform }));
    return { kind: 'go', targets, revision };
  });
}
