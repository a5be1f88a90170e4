/** The epoch of X's ids, in milliseconds since 1970. */
const firstMs = 1_288_834_974_657n;
const countBits = 22n;

/** Returns a function that makes ids like X's: ascending numbers that contain the time. */
export function createIds(now: () => number): () => string {
  let last = 0n;
  return () => {
    const fromTime = (BigInt(now()) - firstMs) << countBits;
    last = fromTime > last ? fromTime : last + 1n;
    return String(last);
  };
}
