import { open, rm } from 'node:fs/promises';
import type { MediaFile } from '../../db/entities/media-file.ts';
import { AppError } from '../../domain/errors.ts';
import { namedIfOutOfRoom } from '../../runtime/storage/disk-room.ts';
import type { ApiDeps } from '../deps.ts';
import type { Multipart, MultipartOptions } from '../http/read-multipart.ts';
import type { Request } from '../http/route.ts';
import { reserveFiles } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { altTextFault } from './alt-text.ts';
import { insertMedia, maxFileBytes, storedMedia, storeFile, type Sent } from './store-files.ts';

/**
 * Stores one uploaded file in the media library, streamed to the disk. A failure leaves neither a file nor a row.
 *
 * @throws AppError `invalid_media`, `invalid_request`, `payload_too_large`, `unsupported_media_type`,
 *   `quota_exceeded`, `unavailable`.
 */
export async function uploadMedia(
  deps: ApiDeps,
  owner: QuotaOwner,
  { readMultipart: read, clientSignal }: Pick<Request, 'readMultipart' | 'clientSignal'>,
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

/** @returns the fields of the upload, once the file is complete at the path. */
async function receive(
  filePath: string,
  read: (sink: MultipartOptions['sink']) => Promise<Multipart>,
): Promise<FileFields> {
  const file = await open(filePath, 'wx', 0o600);
  const sink = file.createWriteStream();
  sink.on('error', () => {}); // The reader fails with the same error, and the file must still be removed.
  try {
    return fileFieldsOf(await read(sink));
  } finally {
    if (!sink.closed) {
      await new Promise<void>((resolve) => sink.once('close', resolve).destroy());
    }
  }
}

/** The fields of an upload. */
type FileFields = Pick<Sent, 'name' | 'altText'>;

/** @throws AppError `invalid_media` without a file; `invalid_request` for unknown or repeated fields. */
function fileFieldsOf({ fields, files }: Multipart): FileFields {
  const { name, alt_text: altText, ...others } = fields;
  if (Object.hasOwn(others, 'file')) {
    throw misplaced('file', 'must be a file, and is text. With curl, write `-F file=@cat.jpg`');
  }

  const unknown = [
    ...Object.keys(others),
    ...files.map(({ field }) => field).filter((field) => field !== 'file'),
  ];
  if (unknown.length > 0) {
    throw misplaced(unknown[0] ?? '', 'is not a known field');
  }

  if (files.length > 1) {
    throw misplaced('file', 'must be given once');
  }

  if (name !== undefined && typeof name !== 'string') {
    throw misplaced('name', 'must be given once, as text');
  }

  if (altText !== undefined && typeof altText !== 'string') {
    throw misplaced('alt_text', 'must be given once, as text');
  }

  const fault = altText === undefined ? null : altTextFault(altText);
  if (fault !== null) {
    throw misplaced('alt_text', fault);
  }

  if (files.length === 0) {
    const message = 'must hold an image or a video';
    throw new AppError('invalid_media', `The field "file" ${message}.`, {
      details: [{ path: '/file', message }],
    });
  }

  return { name: name || files[0]?.fileName, altText: altText || null };
}

const misplaced = (field: string, message: string): AppError =>
  new AppError('invalid_request', `The field "${field}" ${message}.`, {
    details: [{ path: `/${field}`, message }],
  });
