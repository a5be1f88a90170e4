/**
 * Runs `work` for each item in order, at most `width` at once. `work` must catch its own errors: the first rejection is
 * thrown while other items are still running.
 */
export async function forEachLimit<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const takeTurns = async (): Promise<void> => {
    for (const item of rest) {
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, takeTurns));
}
