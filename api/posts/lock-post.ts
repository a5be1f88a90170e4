import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostStatus } from '../../domain/post-status.ts';

export type PostScope = { readonly workspaceId: string; readonly postId: string };

/**
 * Locks a post until the transaction ends. Lock order everywhere: the post, its channels, then files.
 *
 * @throws AppError `not_found`
 */
export async function lockPost(
  em: Em,
  { workspaceId, postId }: PostScope,
): Promise<{ readonly status: PostStatus }> {
  const [post] = await query(
    em,
    sql<{ status: PostStatus }>`
      select status from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  return post;
}

export const postNotFound = (postId: string): AppError =>
  new AppError('not_found', `There is no post "${postId}".`);
