import { sleep } from '@temporalio/activity';

/** Wait between two repetitions, in milliseconds: the first and the longest. */
const [firstMs, longestMs] = [100, 5000];

/**
 * Repeats what stores a result while the database fails, because the request that led to it must not be made again.
 *
 * @param untilMs By `performance.now()`.
 * @throws the error of the last repetition before `untilMs`; CancelledFailure when the worker shuts down.
 */
export async function repeatUntil<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() + waitMs > untilMs) {
        throw error;
      }
    }

    await sleep(waitMs);
  }
}
