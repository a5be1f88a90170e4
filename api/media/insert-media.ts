import { MediaFile } from '../../db/entities/media-file.ts';
import type { Em } from '../../db/orm.ts';
import { reserveMediaQuota } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import type { MediaToInsert } from './new-media.ts';
import { takeFiles } from './unsettled-files.ts';

/**
 * Makes the rows of stored files, in the caller's transaction. They are inserted when it flushes.
 *
 * @throws AppError `quota_exceeded`; `unavailable` when the request took so long that its files were given up.
 */
export async function insertMedia(
  em: Em,
  owner: QuotaOwner,
  { files, countedInLibrary }: MediaToInsert,
  createdAt: Date,
): Promise<MediaFile[]> {
  await reserveMediaQuota(em, owner, files);
  // Before the commit, after which they would count twice. Of a workspace one transaction at a time comes here.
  countedInLibrary();
  await takeFiles(
    em,
    files.map(({ id }) => id),
  );
  return files.map((file) =>
    em.create(MediaFile, { ...file, workspaceId: owner.workspaceId, createdAt, deletedAt: null }),
  );
}
