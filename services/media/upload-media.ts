import { open, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { MediaFile } from '../../db/entities/media.ts';
import { namedIfOutOfRoom } from '../../runtime/storage/disk-storage.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { reserveFiles, type FileReservation } from '../quotas/media-quota.ts';
import { insertMedia, maxFileBytes, storedMedia, storeFile, type Sent } from './store-files.ts';

/** Where the bytes of an upload go, and their limits. */
type UploadTarget = {
  /** The reader writes the file to it, but does not close it after a failure. */
  readonly sink: Writable;
  /** Transforms the bytes on the way, and may refuse them. */
  readonly through: FileReservation['through'];
  readonly maxBytes: number;
  /** How long the client may stall, in milliseconds. */
  readonly stallMs: number;
};

/** Receives one file, and returns what came with it. Called once the file may be stored. */
export type ReadUpload = (target: UploadTarget) => Promise<Pick<Sent, 'name' | 'altText'>>;

/**
 * Stores one uploaded file in the media library, streamed to the disk. A failure leaves neither a file nor a row.
 *
 * @throws AppError `invalid_media`, `invalid_request`, `payload_too_large`, `unsupported_media_type`,
 *   `quota_exceeded`, `unavailable`.
 */
export async function uploadMedia(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media'>,
  owner: QuotaOwner,
  read: ReadUpload,
  clientSignal: () => AbortSignal,
): Promise<MediaFile> {
  const { media, orm } = deps;
  // Before the body is read: a request without quota or space should cost nothing.
  const coming = await reserveFiles(orm.em.fork(), media, owner, 1);
  const filePath = media.staging.newPath();
  try {
    const { name, altText } = await receive(filePath, (sink) =>
      read({ sink, through: coming.through, maxBytes: maxFileBytes, stallMs: media.stallMs }),
    );
    const signal = clientSignal();
    const sent = { name, altText, workspaceId: owner.workspaceId, signal };
    const stored = storedMedia(deps, [await storeFile(deps, filePath, sent)], coming);
    try {
      return await orm.em.fork().transactional(async (em) => {
        const [file] = await insertMedia(em, owner, stored, deps.now());
        if (!file) {
          throw new Error('insertMedia returned no row for the file.');
        }

        return file;
      });
    } finally {
      await stored.removeUnclaimed();
    }
  } catch (error) {
    throw namedIfOutOfRoom(error);
  } finally {
    await rm(filePath, { force: true });
    coming.release();
  }
}

/** Gives `read` a new file to write to. @returns its result, once the file is complete and closed. */
async function receive<T>(filePath: string, read: (sink: Writable) => Promise<T>): Promise<T> {
  const file = await open(filePath, 'wx', 0o600);
  const sink = file.createWriteStream();
  sink.on('error', () => {}); // The reader fails with the same error, and the file must still be removed.
  try {
    return await read(sink);
  } finally {
    if (!sink.closed) {
      await new Promise<void>((resolve) => sink.once('close', resolve).destroy());
    }
  }
}
