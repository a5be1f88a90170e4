/** Keeps items of one kind across restarts. */
export type Shelf<Item> = {
  /** Items of earlier runs. */
  readonly saved: readonly Item[];
  /** Replaces all items, and resolves when they are on disk. */
  save(items: readonly Item[]): Promise<void>;
};
