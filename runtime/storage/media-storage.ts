import type { Readable } from 'node:stream';

/** Bytes counted from 0; `end` is inclusive, as in HTTP. */
export type ByteRange = { readonly start: number; readonly end: number };

/** A page of the stored files. */
export type StoredPage = {
  /** The keys of files, and the names of any other files there. */
  readonly keys: readonly string[];
  /** Null on the last page. */
  readonly next: string | null;
  /** The error when some files of this page could not be listed. */
  readonly obstacle?: unknown;
};

/** How long a mark of `markUsed` is valid, in milliseconds. */
export const usedForMs = 7 * 24 * 60 * 60_000;

/** Stores the bytes of media files. A key comes from `storageKey` and is written once. */
export type MediaStorage = {
  /**
   * Stores a local file, whole or not at all. May move it.
   *
   * @throws AppError `unavailable` when there is no room, or the storage does not answer.
   */
  put(key: string, filePath: string, file: { type: string; sizeBytes: number }): Promise<void>;
  /**
   * Streams a file. The stream fails when the storage does.
   *
   * @returns null when the file does not exist.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Also succeeds when the file does not exist. @throws AppError `unavailable` */
  remove(key: string): Promise<void>;
  /**
   * Lists files page by page, always in the same order.
   *
   * @param position `next` of the previous page, or null for the first.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  list(position: string | null): Promise<StoredPage>;
  /**
   * Marks the storage as used by this database.
   *
   * @returns every database that marked it within the last week, including this one.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  markUsed(database: string): Promise<readonly string[]>;
  /** Marks the storage permanently as belonging to a database. @throws AppError `unavailable` */
  claim(installation: string): Promise<void>;
  /** @throws AppError `unavailable` when the storage does not answer. */
  isClaimed(installation: string): Promise<boolean>;
  close(): void;
};
