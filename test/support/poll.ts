import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats `read` until its result is as wanted.
 *
 * @throws Error with the last result when that takes longer than `timeoutMs`.
 */
export async function poll<T>(
  read: () => T | Promise<T>,
  wanted: (seen: T) => boolean,
  timeoutMs = 100_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await read();
    if (wanted(seen)) {
      return seen;
    }

    if (Date.now() > deadline) {
      throw new Error(`After ${timeoutMs} ms: ${JSON.stringify(seen)?.slice(0, 2000)}`);
    }

    await sleep(50);
  }
}
