/**
 * Returns an ascending status id like Mastodon's: the time in the upper bits and a number in the lower 16. Too large
 * for a JavaScript number.
 */
export function nextStatusId(nowMs: number, lastId: string | undefined): string {
  const fromClock = BigInt(nowMs) << 16n;
  const afterLast = BigInt(lastId ?? 0) + 1n;
  return String(fromClock > afterLast ? fromClock : afterLast);
}
