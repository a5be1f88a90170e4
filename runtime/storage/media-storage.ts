import type { Readable } from 'node:stream';

/** Which bytes, counted from 0; `end` is the last of them, as in HTTP. */
export type ByteRange = { readonly start: number; readonly end: number };

/** A part of what is stored. */
export type StoredPage = {
  /** As they were given, and whatever else lies there. */
  readonly keys: readonly string[];
  /** Null at the end. */
  readonly next: string | null;
  /** Why files are missing in this part, if some are. */
  readonly obstacle?: unknown;
};

/** How long a database counts as one that uses a storage after it has said so. */
export const usedForMs = 7 * 24 * 60 * 60_000;

/** Where the bytes of media files lie. A key is one that `storageKey` made, and is written once. */
export type MediaStorage = {
  /**
   * Stores a copy of a local file, whole or not at all.
   *
   * @throws AppError `unavailable` when there is no room, or the storage does not answer.
   */
  put(key: string, filePath: string, file: { type: string; sizeBytes: number }): Promise<void>;
  /**
   * The bytes of a file as they come, never all at once. The stream fails when the storage does.
   *
   * @returns null when there is no such file.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Succeeds too when there is no such file. @throws AppError `unavailable` */
  remove(key: string): Promise<void>;
  /**
   * Some of the files, always in the same order.
   *
   * @param position Where to go on: `next` of the page before, or null at the beginning.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  list(position: string | null): Promise<StoredPage>;
  /**
   * Says that this database has files here.
   *
   * @returns every database that said so within the last week, this one among them.
   * @throws AppError `unavailable` when the storage does not answer.
   */
  markUsed(database: string): Promise<readonly string[]>;
  /** Marks the storage permanently as that of a database. @throws AppError `unavailable` */
  claim(installation: string): Promise<void>;
  /** @throws AppError `unavailable` when the storage does not answer. */
  isClaimed(installation: string): Promise<boolean>;
  close(): void;
};
