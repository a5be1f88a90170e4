import type { Em } from '../../db/orm.ts';
import { countMedia } from '../../db/quota-use.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import type { RoomOwner } from './take-room.ts';

type Sized = { readonly sizeBytes: number };

/**
 * Asks for room in the library before a request's files come, as far as it can be told by then.
 *
 * @param count How many files there will be.
 * @param underWay How many bytes of the workspace's other files are still coming.
 * @returns how many bytes are in the library.
 * @throws AppError `quota_exceeded`
 */
export const mustHaveMediaRoom = (
  em: Em,
  owner: RoomOwner,
  count: number,
  underWay: number,
): Promise<number> =>
  // Each file has a byte at least.
  compare(em, owner, { files: count, bytes: count, underWay });

/** The same of files whose sizes are known, and that are not to be stored. @throws AppError `quota_exceeded` */
export async function mustHaveRoomFor(
  em: Em,
  owner: RoomOwner,
  files: readonly Sized[],
): Promise<void> {
  if (files.length > 0) {
    await compare(em, owner, { files: files.length, bytes: sum(files) });
  }
}

/**
 * Makes sure that these files have room in the library until the caller's transaction, which makes their rows, has
 * ended. Uploads that end at the same time wait for each other at the workspace's row; posts do not, whose foreign keys
 * take a weaker lock.
 *
 * @throws AppError `quota_exceeded`
 */
export async function keepMediaRoom(
  em: Em,
  owner: RoomOwner,
  files: readonly Sized[],
): Promise<void> {
  if (files.length > 0) {
    await em.execute('select 1 from workspaces where id = ? for no key update', [
      owner.workspaceId,
    ]);
    // A statement of its own: it sees what was committed while we waited for the lock.
    await compare(em, owner, { files: files.length, bytes: sum(files) });
  }
}

const sum = (files: readonly Sized[]): number =>
  files.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);

async function compare(
  em: Em,
  { workspaceId, quotas }: RoomOwner,
  { files, bytes, underWay = 0 }: { files: number; bytes: number; underWay?: number },
): Promise<number> {
  const used = await countMedia(em, workspaceId);
  if (used.files + files > quotas.files) {
    throw quotaExceeded('files', quotas.files, used.files);
  }

  if (used.media_bytes + underWay + bytes > quotas.media_bytes) {
    throw quotaExceeded('media_bytes', quotas.media_bytes, used.media_bytes + underWay);
  }

  return used.media_bytes;
}
