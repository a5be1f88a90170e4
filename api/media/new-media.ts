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
  readonly storageKey: string;
  readonly linkToken: string;
};

/** Stored files for which `insertMedia` is to make rows. */
export type MediaToInsert = {
  readonly files: readonly NewMedia[];
  /** Says that the library counts them, in the transaction that makes their rows: they are under way no more. */
  readonly countedInLibrary: () => void;
};

/** Stored files that belong to nobody yet. Call `settle` in the end, whatever happened. */
export type StoredMedia = MediaToInsert & {
  /**
   * Removes those files that got no row: after a commit none, after a failure all. Never throws; what cannot be
   * removed or is not certain now is made up for later (`sweep-media.ts`).
   */
  settle(): Promise<void>;
};
