import { createHash, type Hash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { MediaFile } from '../../db/entities/media.ts';
import { AppError } from '../../domain/errors.ts';
import { asUnavailable } from '../../runtime/storage/disk-storage.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, fingerprint, isKeyUsed, type RequestKey } from '../idempotency.ts';
import { assertFilesMayCome, whileDiskHasSpace } from '../quotas/media-quota.ts';
import { insertMedia, maxFileBytes, storedMedia, storeFile, type Sent } from './store-files.ts';

type UploadTarget = {
  /** The reader writes the file to it, but does not close it after a failure. */
  readonly sink: Writable;
  /** Transforms the bytes on the way, and may refuse them. */
  readonly through: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  readonly maxBytes: number;
  /** How long the client may stall, in milliseconds. */
  readonly stallMs: number;
};

/** Receives one file, and returns what came with it. Called once the file may be stored. */
export type ReadUpload = (target: UploadTarget) => Promise<Pick<Sent, 'name' | 'altText'>>;

/** Bytes of a body that may not be the file's: boundaries, headers and other fields. */
const mostFormBytes = 16 * 1024;

type UploadRequest<T> = {
  readonly read: ReadUpload;
  /** Returns JSON, which a repeated request gets again. */
  readonly present: (file: MediaFile) => T;
  readonly clientSignal: () => AbortSignal;
  /** By its `Content-Length`; 0 without one. */
  readonly bodyBytes: number;
  readonly idempotencyKey: string | undefined;
};

/** Stores one uploaded file in the media library, streamed to the disk. A failure leaves neither a file nor a row. */
export async function uploadMedia<T extends object>(
  deps: UploadDeps,
  owner: QuotaOwner,
  request: UploadRequest<T>,
): Promise<T & { readonly replayed: boolean }> {
  const { media, orm } = deps;
  const { read, bodyBytes, idempotencyKey } = request;
  const { workspaceId } = owner;
  const isUsed = (key: string) => isKeyUsed(orm.em.fork(), workspaceId, key, deps.now());
  if (idempotencyKey !== undefined && (await isUsed(idempotencyKey))) {
    return repeatUpload(deps, owner, { ...request, idempotencyKey });
  }

  const bytes = Math.min(Math.max(1, bodyBytes - mostFormBytes), maxFileBytes);
  await assertFilesMayCome(orm.em.fork(), media, owner, { files: 1, bytes });
  const filePath = media.staging.newPath();
  const hash = createHash('sha256');
  try {
    const fields = await receive(filePath, (sink) => {
      const through = (pieces: AsyncIterable<Buffer>) =>
        whileDiskHasSpace(media, idempotencyKey === undefined ? pieces : hashed(pieces, hash));
      return read({ sink, through, maxBytes: maxFileBytes, stallMs: media.stallMs });
    });
    const key = idempotencyKey === undefined ? undefined : keyOf(idempotencyKey, fields, hash);
    const signal = request.clientSignal();
    const sent = { ...fields, workspaceId, signal };
    const stored = storedMedia(deps, [await storeFile(deps, filePath, sent)]);
    try {
      return await createOnce<T>(deps, workspaceId, key, (transact) =>
        transact(async (em) => {
          const [file] = await insertMedia(em, owner, stored, deps.now());
          if (!file) {
            throw new Error('insertMedia returned no row for the file.');
          }

          return request.present(file);
        }),
      );
    } finally {
      await stored.removeUnclaimed();
    }
  } catch (error) {
    throw asUnavailable(error);
  } finally {
    await rm(filePath, { force: true }).catch(() => {}); // The sweep removes what is left.
  }
}

type UploadDeps = Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media' | 'sealer'>;

/** Compares a repeated upload by its hash, and stores nothing: it needs neither quota nor space. */
async function repeatUpload<T extends object>(
  deps: UploadDeps,
  { workspaceId }: QuotaOwner,
  { read, idempotencyKey }: UploadRequest<T> & { readonly idempotencyKey: string },
): Promise<T & { readonly replayed: boolean }> {
  const hash = createHash('sha256');
  const fields = await read({
    sink: new Writable({ write: (_bytes, _encoding, done) => done() }),
    through: (bytes) => hashed(bytes, hash),
    maxBytes: maxFileBytes,
    stallMs: deps.media.stallMs,
  });
  return createOnce<T>(deps, workspaceId, keyOf(idempotencyKey, fields, hash), () => {
    const message = 'The idempotency key expired meanwhile. Send the file again.';
    throw new AppError('unavailable', message);
  });
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncIterable<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

/** A file's name is part of the request, since it is stored. */
const keyOf = (key: string, fields: object, hash: Hash): RequestKey => ({
  key,
  print: fingerprint(['uploadMedia', { ...fields, file: hash.digest('hex') }]),
});

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
