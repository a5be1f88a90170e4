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

/** Stored files that belong to nobody yet. Call `settle` in the end, whatever happened. */
export type StoredMedia = {
  readonly files: readonly NewMedia[];
  /**
   * Removes those files that got no row: after a commit none, after a failure all. Never throws; what cannot be
   * removed or is not certain now is made up for later (`sweep-media.ts`).
   */
  settle(): Promise<void>;
};
