/**
 * Does something with each of many, in their order and at most `width` at once. What fails must be caught by `work`
 * itself: the first rejection is thrown while others still run.
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
