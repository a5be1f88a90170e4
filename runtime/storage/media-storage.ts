import type { Readable } from 'node:stream';

/** Bytes counted from 0; `end` is inclusive, as in HTTP. */
export type ByteRange = { readonly start: number; readonly end: number };

/** This process must not go on with this storage: only the operator can mend its settings. */
export class WrongStorageError extends Error {
  override readonly name = 'WrongStorageError';
}

/** Stores the bytes of media files. A key comes from `storageKey` and is written once. */
export type MediaStorage = {
  /** Stores a local file, whole or not at all. May move it. @throws AppError `unavailable`, also without room. */
  put(key: string, filePath: string, file: { type: string; sizeBytes: number }): Promise<void>;
  /** Streams a file; null when it does not exist. @throws AppError `unavailable` */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Also succeeds when the file does not exist. @throws AppError `unavailable` */
  remove(key: string): Promise<void>;
  /** Marks the storage permanently as belonging to a database. @throws AppError `unavailable` */
  claim(installation: string): Promise<void>;
  /** @throws AppError `unavailable` when the storage does not answer. */
  isClaimed(installation: string): Promise<boolean>;
  close(): void;
};
