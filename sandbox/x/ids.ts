/** X's ids begin with the milliseconds since then. */
const firstMs = 1_288_834_974_657n;
const countBits = 22n;

/** Gives out ids as X does: numbers that grow, and that tell when they were given out. */
export function createIds(now: () => number): () => string {
  let last = 0n;
  return () => {
    const fromTime = (BigInt(now()) - firstMs) << countBits;
    last = fromTime > last ? fromTime : last + 1n;
    return String(last);
  };
}
