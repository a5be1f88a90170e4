import type { Em } from '../../db/orm.ts';
import { countMedia, lockLibrary } from '../../db/quotas.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import type { QuotaOwner } from '../context.ts';
import type { MediaDeps } from '../deps.ts';

type Sized = { readonly sizeBytes: number; readonly altText: string | null };

/** Refuses files that exceed the library's quota, without reserving space. */
export async function assertMediaQuota(
  em: Em,
  owner: QuotaOwner,
  files: readonly Sized[],
): Promise<void> {
  if (files.length > 0) {
    const sizes = files.map(({ sizeBytes, altText }) => sizeBytes + bytesOfAltText(altText));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    await assertFits(em, owner, { files: files.length, bytes });
  }
}

/**
 * Reserves space in the library until the caller's transaction, which puts the files into it, has ended. Concurrent uploads
 * of a workspace wait at its row; posts do not, because foreign keys take a weaker lock.
 */
export async function reserveMediaQuota(
  em: Em,
  owner: QuotaOwner,
  files: readonly Sized[],
): Promise<void> {
  await lockLibrary(em, owner.workspaceId);
  // A separate statement sees the rows that were committed during the wait for the lock.
  await assertMediaQuota(em, owner, files);
}

const bytesOfAltText = (text: string | null): number => Buffer.byteLength(text ?? '');

/** Reserves space for a longer alt text, as `reserveMediaQuota` does for files. The caller has locked the file's row. */
export async function reserveAltText(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  before: string | null,
  after: string | null,
): Promise<void> {
  await lockLibrary(em, workspaceId);
  const more = bytesOfAltText(after) - bytesOfAltText(before);
  const used = more > 0 ? (await countMedia(em, workspaceId)).media_bytes : 0;
  if (used + more > quotas.media_bytes) {
    throw quotaExceeded('media_bytes', quotas.media_bytes, used);
  }
}

async function assertFits(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  { files, bytes }: { files: number; bytes: number },
): Promise<void> {
  const used = await countMedia(em, workspaceId);
  if (used.files + files > quotas.files) {
    throw quotaExceeded('files', quotas.files, used.files);
  }

  if (used.media_bytes + bytes > quotas.media_bytes) {
    throw quotaExceeded('media_bytes', quotas.media_bytes, used.media_bytes);
  }
}

/**
 * Checks quota and disk space before a request's files arrive, so that a request without room costs nothing.
 * `reserveMediaQuota` makes the final decision. @param bytes At least one for each file.
 */
export async function assertFilesMayCome(
  em: Em,
  media: Pick<MediaDeps, 'assertDiskSpace'>,
  owner: QuotaOwner,
  coming: { readonly files: number; readonly bytes: number },
): Promise<void> {
  await assertFits(em, owner, coming);
  await media.assertDiskSpace();
}

/** The disk is checked again after this many bytes of a file. */
const stepBytes = 4 * 1024 * 1024;

/** Passes a file's bytes on while the disk has space. */
export async function* whileDiskHasSpace(
  { assertDiskSpace }: Pick<MediaDeps, 'assertDiskSpace'>,
  bytes: AsyncIterable<Buffer>,
): AsyncIterable<Buffer> {
  let unchecked = 0;
  for await (const piece of bytes) {
    unchecked += piece.length;
    if (unchecked >= stepBytes) {
      unchecked = 0;
      await assertDiskSpace();
    }

    yield piece;
  }
}
