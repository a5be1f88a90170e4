import type { Em } from '../../db/orm.ts';
import { countMedia, lockLibrary } from '../../db/quota-use.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import type { QuotaOwner } from './post-quota.ts';

type Sized = { readonly sizeBytes: number; readonly altText: string | null };

/** Refuses files that do not fit into the library, and that are not to be stored. @throws AppError `quota_exceeded` */
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
 * Makes sure that these files fit into the library until the caller's transaction, which makes their rows, has ended. Uploads that end at the same time wait for each other at the workspace's row; posts do not, whose foreign keys
 * take a weaker lock.
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
    // A statement of its own: it sees what was committed while we waited for the lock.
    await assertFits(em, owner, { files: files.length, bytes: sizeOf(files) });
  }
}

const sizeOf = (files: readonly Sized[]): number =>
  files.reduce((bytes, { sizeBytes, altText }) => bytes + sizeBytes + bytesOfAltText(altText), 0);

const bytesOfAltText = (text: string | null): number => Buffer.byteLength(text ?? '');

/**
 * Makes sure that a longer alt text fits into the library, as `reserveMediaQuota` does for files. What does not grow is
 * never refused.
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
 * @param underWay How many bytes of the workspace's other files are still coming.
 * @returns how many bytes are in the library.
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

/** How many bytes of each workspace have come to this process that do not count in its library yet. */
export type BytesUnderWay = Map<string, number>;

/** After how many bytes of a request the disk and the library are checked again. */
const stepBytes = 4 * 1024 * 1024;

/** The files of a request, from their first byte until the library counts them or they are removed. */
export type ComingFiles = {
  /**
   * Lets bytes through to where they are written, and counts them before.
   *
   * @throws AppError `quota_exceeded` or `unavailable` when what comes does not fit, from then on for every file of
   *   the request. Then it counts no more, so that of several requests the last one fits.
   */
  readonly through: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** Counts them no more. To be called in the end, whatever happened; a second time does nothing. */
  readonly release: () => void;
};

/**
 * Checks the quota and the disk for a request's files before they come, and again as they do, together with all that is
 * under way for their workspace. Whether they fit in the end `reserveMediaQuota` says.
 *
 * @param em A fork of its own.
 * @param count How many files there will be.
 * @throws AppError `quota_exceeded` or `unavailable` when they certainly do not fit.
 */
export async function expectFiles(
  em: Em,
  media: { readonly underWay: BytesUnderWay; readonly assertDiskSpace: () => Promise<void> },
  owner: QuotaOwner,
  count: number,
): Promise<ComingFiles> {
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
      // In the same moment, or two that do not fit together would both be refused.
      release(quotaExceeded('media_bytes', quotas.media_bytes, stored + part.ofOthers()));
    }
  };

  if (count > 0) {
    // Each file has a byte at least.
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

/** What a request adds to the bytes that are under way for its workspace. */
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
