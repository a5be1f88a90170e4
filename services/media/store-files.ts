import { stat } from 'node:fs/promises';
import { recordAudit } from '../../db/audit.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import {
  beginFile,
  claimFiles,
  abandonUnclaimed,
  forgetFiles,
} from '../../db/repositories/media.ts';
import { AppError } from '../../domain/errors.ts';
import { newLinkToken } from '../../runtime/secrets.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { reserveMediaQuota } from '../quotas/media-quota.ts';
import { fileName } from './file-texts.ts';
import { describeError } from '../../runtime/logger.ts';

/** Limit of a file, in bytes: 200 MB, read as MiB. */
export const maxFileBytes = 200 * 1024 * 1024;

/** A stored file that `insertMedia` still has to put into the library. */
export type NewMedia = Readonly<
  Omit<MediaFile, 'workspaceId' | 'createdAt' | 'storedAt' | 'deletedAt'>
>;

export type MediaToInsert = { readonly files: readonly NewMedia[] };

/** Stored files outside of the library. Always call `removeUnclaimed` at the end. */
export type StoredMedia = MediaToInsert & {
  /** Removes the files that are not in the library: none after a commit, all after a failure. Never throws. */
  removeUnclaimed(): Promise<void>;
};

export type Sent = {
  readonly name: string | undefined;
  readonly altText: string | null;
  readonly workspaceId: string;
  readonly signal: AbortSignal | undefined;
};

/**
 * Inspects a complete file in the staging folder and moves it into the storage.
 *
 * @throws AppError `invalid_media` when it is neither an image nor a video; `unavailable` when there is no space or the
 *   inspection queue is full; the signal's reason.
 */
export async function storeFile(
  { orm, media: { storage, inspector } }: Pick<ServiceDeps, 'orm' | 'media'>,
  filePath: string,
  { name, altText, workspaceId, signal }: Sent,
): Promise<NewMedia> {
  const facts = await inspector.inspect(filePath, workspaceId, signal);
  if ('refusal' in facts) {
    throw new AppError('invalid_media', facts.refusal);
  }

  const { size: sizeBytes } = await stat(filePath);
  const id = newId();
  const file = {
    ...facts,
    id,
    name: fileName(name, facts.type),
    sizeBytes,
    altText,
    storageKey: id,
    linkToken: newLinkToken(),
  };
  await beginFile(orm.em.fork(), workspaceId, file);
  await storage.put(id, filePath, { type: facts.type, sizeBytes });
  return file;
}

export const storedMedia = (
  deps: Pick<ServiceDeps, 'orm' | 'log' | 'media'>,
  files: readonly NewMedia[],
): StoredMedia => ({
  files,
  removeUnclaimed: () =>
    removeUnclaimed(
      deps,
      files.map(({ id }) => id),
    ),
});

export const noMedia: StoredMedia = {
  files: [],
  removeUnclaimed: () => Promise.resolve(),
};

/**
 * Puts stored files into the library, in the caller's transaction.
 *
 * @throws AppError `quota_exceeded`; `unavailable` when the request took so long that its files were abandoned.
 */
export async function insertMedia(
  em: Em,
  owner: QuotaOwner,
  { files }: MediaToInsert,
  createdAt: Date,
): Promise<MediaFile[]> {
  if (files.length === 0) {
    return [];
  }

  const ids = files.map(({ id }) => id);
  await reserveMediaQuota(em, owner, files);
  const inserted = await claimFiles(em, ids, createdAt);
  if (inserted.length < ids.length) {
    throw new AppError('unavailable', 'The request took too long. Send it again.', {
      retryAfter: 1,
    });
  }

  await recordAudit(em, owner, 'media.uploaded', ...ids);
  return inserted;
}

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

/** Removes the bytes of deleted files, and the rows that no post needs. @returns how many removals failed. */
export async function removeBytes(
  { orm, log, media: { storage } }: Deps,
  ids: readonly string[],
): Promise<number> {
  const removed: string[] = [];
  for (const id of ids) {
    try {
      await storage.remove(id);
      removed.push(id);
    } catch (error) {
      log.warn(
        { error: describeError(error), file: id },
        'file not removed, the next sweep retries',
      );
    }
  }

  if (removed.length > 0) {
    await forgetFiles(orm.em.fork(), removed);
  }

  return ids.length - removed.length;
}

/**
 * Removes the files of a request that are not in the library, after its transaction, and leaves undecided ones to the
 * sweep. The database decides, not what the caller saw: a COMMIT without a response may still succeed.
 */
async function removeUnclaimed(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  try {
    await removeBytes(deps, await abandonUnclaimed(deps.orm.em.fork(), ids));
  } catch (error) {
    deps.log.warn(
      { error: describeError(error), files: ids },
      'unclaimed files not removed, the next sweep retries',
    );
  }
}
