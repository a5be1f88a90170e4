import { MediaFile } from '../../db/entities/media-file.ts';
import type { Em } from '../../db/orm.ts';
import type { NewMedia } from './new-media.ts';

/** Makes the rows of stored files, in the caller's transaction. They are inserted when it flushes. */
export function insertMedia(
  em: Em,
  workspaceId: string,
  files: readonly NewMedia[],
  createdAt: Date,
): MediaFile[] {
  return files.map((file) =>
    em.create(MediaFile, { ...file, workspaceId, createdAt, deletedAt: null }),
  );
}
