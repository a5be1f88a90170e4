import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { settleFiles } from './settle-files.ts';
import { giveUpFile } from './unsettled-files.ts';

/**
 * Removes a file from the library and its bytes from the storage. Drafts and finished posts that have it go without.
 *
 * @throws AppError `not_found`; `media_in_use` while a post that uses it is scheduled or being published.
 */
export async function deleteMedia(deps: ApiDeps, workspaceId: string, id: string): Promise<void> {
  const { orm, now } = deps;
  await orm.em.fork().transactional(async (em) => {
    await markDeleted(em, workspaceId, id, now());
    await giveUpFile(em, id);
  });
  await settleFiles(deps, [id]);
}

async function markDeleted(em: Em, workspaceId: string, id: string, at: Date): Promise<void> {
  // Whoever attaches a file to a post holds a lock on its row meanwhile: either they come first and we see their post,
  // or they find the file gone.
  const [file] = await em.execute<{ id: string }[]>(
    'select id from media_files where id = ? and workspace_id = ? and deleted_at is null for update',
    [id, workspaceId],
  );
  if (!file) {
    throw new AppError('not_found', `There is no media file "${id}".`);
  }

  const [post] = await em.execute<{ id: string; status: string }[]>(
    `select p.id, p.status from post_media m join posts p on p.id = m.post_id and p.workspace_id = m.workspace_id
     where m.media_id = ? and m.workspace_id = ? and p.status in ('scheduled', 'publishing') limit 1`,
    [id, workspaceId],
  );
  if (post) {
    throw new AppError('media_in_use', `Post ${post.id}, which is ${post.status}, uses this file.`);
  }

  await em.execute('update media_files set deleted_at = ? where id = ? and workspace_id = ?', [
    at,
    id,
    workspaceId,
  ]);
}
