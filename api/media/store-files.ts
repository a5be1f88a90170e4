import { stat } from 'node:fs/promises';
import { MediaFile } from '../../db/entities/media-file.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import type { MediaDetails } from '../../domain/media-details.ts';
import { AppError } from '../../domain/errors.ts';
import { newLinkToken } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { reserveMediaQuota, type ComingFiles } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { fileName } from './file-name.ts';
import { claimFiles, registerFile, removeUnclaimed } from './unclaimed-files.ts';

/** Of a file, in bytes: 200 MB, in the larger of the two ways to read that. */
export const maxFileBytes = 200 * 1024 * 1024;

/** A file whose bytes are stored, and whose row is still to be made by `insertMedia`. */
export type NewMedia = {
  readonly id: string;
  readonly name: string;
  /** MIME type, read from the bytes. */
  readonly type: string;
  readonly sizeBytes: number;
  /** In pixels, as displayed. */
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly details: MediaDetails;
  readonly altText: string | null;
  readonly storageKey: string;
  readonly linkToken: string;
};

/** Stored files for which `insertMedia` is to make rows. */
export type MediaToInsert = {
  readonly files: readonly NewMedia[];
  /** Says that the library counts them, in the transaction that makes their rows: they are under way no more. */
  readonly countedInLibrary: () => void;
};

/** Stored files that no row claims yet. Call `removeUnclaimed` in the end, whatever happened. */
export type StoredMedia = MediaToInsert & {
  /**
   * Removes those files that got no row: after a commit none, after a failure all. Never throws; what cannot be
   * removed or is not certain now is made up for later (`sweep-media.ts`).
   */
  removeUnclaimed(): Promise<void>;
};

/** A file's sender, and what they say of it. */
export type Sent = {
  /** As its sender called it. */
  readonly name: string | undefined;
  readonly altText: string | null;
  readonly workspaceId: string;
  /** Aborts when the client hangs up. */
  readonly signal: AbortSignal | undefined;
};

/**
 * Inspects a file that has come whole, and stores it. From then on the caller removes it unless a row claims it (see `StoredMedia`).
 *
 * @param filePath In the staging folder; whether it is still there afterwards is open.
 * @throws AppError `invalid_media` when it is no image and no video, `unavailable` when there is no room, or when too many
 * others are to be inspected before it; the signal's reason.
 */
export async function storeFile(
  { orm, media: { storage, inspector } }: Pick<ApiDeps, 'orm' | 'media'>,
  filePath: string,
  { name, altText, workspaceId, signal }: Sent,
): Promise<NewMedia> {
  const facts = await inspector.inspect(filePath, workspaceId, signal);
  if ('refusal' in facts) {
    throw new AppError('invalid_media', facts.refusal);
  }

  const { size: sizeBytes } = await stat(filePath);
  const id = newId();
  await registerFile(orm.em.fork(), id);
  await storage.put(id, filePath, { type: facts.type, sizeBytes });
  return {
    ...facts,
    id,
    name: fileName(name, facts.type),
    sizeBytes,
    altText,
    storageKey: id,
    linkToken: newLinkToken(),
  };
}

/** Files that were stored for a caller who is about to make their rows. */
export const storedMedia = (
  deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>,
  files: readonly NewMedia[],
  coming: ComingFiles,
): StoredMedia => ({
  files,
  countedInLibrary: coming.release,
  removeUnclaimed: async () => {
    await removeUnclaimed(
      deps,
      files.map(({ id }) => id),
    );
    coming.release();
  },
});

/**
 * Makes the rows of stored files, in the caller's transaction. They are inserted when it flushes.
 *
 * @throws AppError `quota_exceeded`; `unavailable` when the request took so long that its files were abandoned.
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
  await claimFiles(
    em,
    files.map(({ id }) => id),
  );
  return files.map((file) =>
    em.create(MediaFile, { ...file, workspaceId: owner.workspaceId, createdAt, deletedAt: null }),
  );
}
