import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks until what it sees is as wanted.
 *
 * @throws Error with what it saw last, when that takes longer than `timeoutMs`.
 */
export async function poll<T>(
  look: () => Promise<T>,
  wanted: (seen: T) => boolean,
  timeoutMs = 100_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (wanted(seen)) {
      return seen;
    }

    if (Date.now() > deadline) {
      throw new Error(`After ${timeoutMs} ms: ${JSON.stringify(seen)?.slice(0, 2000)}`);
    }

    await sleep(50);
  }
}
