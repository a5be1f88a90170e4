import type { Em } from '../../db/orm.ts';
import { countMedia, lockLibrary } from '../../db/quotas.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import type { QuotaOwner } from '../context.ts';
import type { BytesUnderWay } from '../deps.ts';

type Sized = { readonly sizeBytes: number; readonly altText: string | null };

/** Refuses files that exceed the library's quota, without reserving space. @throws AppError `quota_exceeded` */
export async function assertMediaQuota(
  em: Em,
  owner: QuotaOwner,
  files: readonly Sized[],
): Promise<void> {
  if (files.length > 0) {
    await assertFits(em, owner, { files: files.length, bytes: sizeOf(files) });
  }
}

/**
 * Reserves space in the library until the caller's transaction, which inserts the rows, has ended. Concurrent uploads
 * of a workspace wait at its row; posts do not, because foreign keys take a weaker lock.
 *
 * @throws AppError `quota_exceeded`
 */
export async function reserveMediaQuota(
  em: Em,
  owner: QuotaOwner,
  files: readonly Sized[],
): Promise<void> {
  if (files.length > 0) {
    await lockLibrary(em, owner.workspaceId);
    // A separate statement sees the rows that were committed during the wait for the lock.
    await assertFits(em, owner, { files: files.length, bytes: sizeOf(files) });
  }
}

const sizeOf = (files: readonly Sized[]): number =>
  files.reduce((bytes, { sizeBytes, altText }) => bytes + sizeBytes + bytesOfAltText(altText), 0);

const bytesOfAltText = (text: string | null): number => Buffer.byteLength(text ?? '');

/**
 * Reserves space for a longer alt text, as `reserveMediaQuota` does for files. A shorter or equal text is always
 * accepted.
 *
 * @throws AppError `quota_exceeded`
 */
export async function reserveAltText(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  before: string | null,
  after: string | null,
): Promise<void> {
  const more = bytesOfAltText(after) - bytesOfAltText(before);
  const used = more > 0 ? (await countMedia(em, workspaceId)).media_bytes : 0;
  if (used + more > quotas.media_bytes) {
    throw quotaExceeded('media_bytes', quotas.media_bytes, used);
  }
}

/**
 * @param underWay Bytes of the workspace's other files that are being received.
 * @returns the size of the library in bytes.
 * @throws AppError `quota_exceeded`
 */
async function assertFits(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
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

/** The disk and the library are checked again after this many bytes of a request. */
const stepBytes = 4 * 1024 * 1024;

/** The files of a request, from their first byte until the library counts them or they are removed. */
export type FileReservation = {
  /**
   * Counts bytes before they are written.
   *
   * @throws AppError `quota_exceeded` or `unavailable` when the bytes do not fit, then for every file of the request.
   *   The request stops counting at that moment, so that of several requests the last one fits.
   */
  readonly through: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** Stops counting. Always call it at the end; a second call does nothing. */
  readonly release: () => void;
};

/**
 * Checks quota and disk space for a request's files before they arrive, and again while they do, together with
 * everything that the workspace is uploading. `reserveMediaQuota` makes the final decision.
 *
 * @param em A fork of its own.
 * @param count The expected number of files.
 * @throws AppError `quota_exceeded` or `unavailable` when they certainly do not fit.
 */
export async function reserveFiles(
  em: Em,
  media: { readonly underWay: BytesUnderWay; readonly assertDiskSpace: () => Promise<void> },
  owner: QuotaOwner,
  count: number,
): Promise<FileReservation> {
  const { workspaceId, quotas } = owner;
  const part = partOf(media.underWay, workspaceId);
  let [stored, unchecked] = [0, 0];
  let end: unknown = null;
  const release = (reason: unknown = new Error('The request is over.')): void => {
    end ??= reason;
    part.release();
  };
  const fits = (): boolean => stored + part.ofAll() <= quotas.media_bytes;
  const take = async (bytes: number): Promise<void> => {
    part.add(bytes);
    unchecked += bytes;
    if (unchecked >= stepBytes || !fits()) {
      unchecked = 0;
      await media.assertDiskSpace();
      stored = (await countMedia(em, workspaceId)).media_bytes;
    }

    if (end === null && !fits()) {
      // Without an await in between, so that of two requests that do not fit together only one is refused.
      release(quotaExceeded('media_bytes', quotas.media_bytes, stored + part.ofOthers()));
    }
  };

  if (count > 0) {
    // Each file has at least one byte.
    const files = { files: count, bytes: count, underWay: part.ofAll() };
    stored = await assertFits(em, owner, files);
    await media.assertDiskSpace();
  }

  async function* through(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const piece of bytes) {
      if (end === null) {
        await take(piece.length).catch(release);
      }

      if (end !== null) {
        throw end;
      }

      yield piece;
    }
  }

  return { through, release: () => release() };
}

/** The bytes of one request among those of its workspace. */
function partOf(underWay: BytesUnderWay, workspaceId: string) {
  let own = 0;
  const ofAll = (): number => underWay.get(workspaceId) ?? 0;
  const add = (bytes: number): void => {
    own += bytes;
    const all = ofAll() + bytes;
    if (all === 0) {
      underWay.delete(workspaceId);
    } else {
      underWay.set(workspaceId, all);
    }
  };
  return { add, ofAll, ofOthers: () => ofAll() - own, release: () => add(-own) };
}
