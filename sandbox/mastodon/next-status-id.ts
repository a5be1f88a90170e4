/**
 * A status id: the time in its upper bits and a number in its lower 16, as Mastodon makes them, and always above
 * the last one. Too large for a JavaScript number.
 */
export function nextStatusId(nowMs: number, lastId: string | undefined): string {
  const fromClock = BigInt(nowMs) << 16n;
  const afterLast = BigInt(lastId ?? 0) + 1n;
  return String(fromClock > afterLast ? fromClock : afterLast);
}
