import { channelErrorCodes, type ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError } from '../../domain/errors.ts';
import { networksOfPost } from '../../db/networks-of-post.ts';
import type { Em } from '../../db/orm.ts';
import { db } from '../../db/query.ts';
import type { ApiDeps } from '../deps.ts';
import type { Caller } from '../http/route.ts';
import { mustHavePlan } from './must-have-plan.ts';

export type RetryDeps = Pick<ApiDeps, 'orm' | 'now' | 'syncPost'>;

type PostRow = { status: string };

/**
 * Sends a finished post again to the channels that failed, and to no other.
 *
 * @param only Of the failed channels those with one of these codes; all of them when left out.
 * @param at When it goes out; now when left out.
 * @returns the ids of those channels.
 * @throws AppError `plan_required`, `not_found` or `nothing_to_retry`.
 */
export async function retryPost(
  deps: RetryDeps,
  caller: Pick<Caller, 'workspaceId' | 'plan'>,
  postId: string,
  {
    only = channelErrorCodes,
    at = deps.now(),
  }: { readonly only?: readonly ChannelErrorCode[]; readonly at?: Date } = {},
): Promise<string[]> {
  mustHavePlan(caller);
  const { workspaceId } = caller;
  const now = deps.now();
  const { revision, networks, retrying } = await deps.orm.em.fork().transactional(async (em) => {
    const [post] = await em.execute<PostRow[]>(
      'select status from posts where id = ? and workspace_id = ? for update',
      [postId, workspaceId],
    );
    if (!post) {
      throw new AppError('not_found', `There is no post "${postId}".`);
    }

    if (post.status !== 'published' && post.status !== 'failed') {
      throw nothingToRetry(
        `The post is ${post.status === 'draft' ? 'a draft' : post.status}; only one that has ended can be retried.`,
      );
    }

    await mustHaveItsMedia(em, workspaceId, postId);
    const channels = await em.execute<{ channel_id: string; position: number }[]>(
      `update post_channels set status = 'scheduled', tries = 0, error = null, error_code = null, retry_at = null
       where post_id = ? and workspace_id = ? and status = 'failed' and coalesce(error_code, 'internal') in (?)
       returning channel_id, position`,
      [postId, workspaceId, only],
    );
    if (channels.length === 0) {
      throw nothingToRetry('No channel of this post has failed.');
    }

    const [changed] = await em.execute<{ revision: number; networks: string[] }[]>(
      `update posts set status = 'publishing', run = run + 1, retried_at = ?, revision = revision + 1, updated_at = ?
       where id = ? and workspace_id = ? returning revision, ${networksOfPost.compile(db).sql} as networks`,
      [at, now, postId, workspaceId],
    );
    const { revision: raised = 0, networks: all = [] } = changed ?? {};
    return { revision: raised, networks: all, retrying: inOrder(channels) };
  });
  const dueAt = at.toISOString();
  deps.syncPost({ workspaceId, postId, status: 'publishing', revision, dueAt, networks });
  return retrying;
}

const inOrder = (channels: readonly { channel_id: string; position: number }[]): string[] =>
  channels.toSorted((a, b) => a.position - b.position).map((row) => row.channel_id);

/** A retry must not send less than the post was. The lock keeps the files until the retry is committed. */
async function mustHaveItsMedia(em: Em, workspaceId: string, postId: string): Promise<void> {
  const files = await em.execute<{ name: string; is_deleted: boolean }[]>(
    `select m.name, m.deleted_at is not null as is_deleted
     from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
     where pm.post_id = ? and pm.workspace_id = ? order by pm.position for share of m`,
    [postId, workspaceId],
  );
  const missing = files.filter((file) => file.is_deleted);
  if (missing.length > 0) {
    throw nothingToRetry(
      `Files of this post were deleted: ${missing.map(({ name }) => name).join(', ')}. Make a new post.`,
    );
  }
}

const nothingToRetry = (message: string): AppError => new AppError('nothing_to_retry', message);
