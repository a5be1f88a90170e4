import { loadPostView } from '../../db/load-post-view.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { ApiDeps } from '../deps.ts';
import { record } from '../http/shared-schemas.ts';
import { postSchema } from './schemas.ts';

export const postAnswer = record({ post: postSchema });

/** @throws AppError `not_found` */
export async function showPost(
  { orm, publicUrl }: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<{ post: PostView }> {
  const post = await loadPostView(orm.em.fork(), workspaceId, id, publicUrl);
  if (!post) {
    throw new AppError('not_found', `There is no post "${id}".`);
  }

  return { post };
}
