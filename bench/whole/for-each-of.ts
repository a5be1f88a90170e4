import { setTimeout as sleep } from 'node:timers/promises';

/** How many starts are under way at a time. */
const concurrency = 8;

/** How often one is tried, as a machine that is busy with others may not start it in time. */
const tries = 10;

/** Calls `work` for each of them, some at a time. What it does may be repeated. */
export async function forEachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      await insistently(() => work(item));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** Calls `work` until it succeeds, a second apart. @throws what it threw last. */
export async function insistently(work: () => Promise<unknown>): Promise<void> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) {
        throw error;
      }

      await sleep(1000);
    }
  }
}
