/** Where things of one kind survive a restart. */
export type Shelf<Item> = {
  /** What an earlier run kept. */
  readonly saved: readonly Item[];
  /** Keeps these and no others, and resolves when they are on disk. */
  save(items: readonly Item[]): Promise<void>;
};
