import { sleep } from '@temporalio/activity';

/** Between two tries, in milliseconds: the first wait, and the longest. */
const [firstMs, longestMs] = [100, 5000];

/**
 * Does what is safe to repeat until it succeeds. For what came of a request: a database that is away or stalls for a
 * while is no reason to make the request once more.
 *
 * @param untilMs By `performance.now()`: a try that fails after it is the last.
 * @throws whatever the last try threw, or CancelledFailure when the worker shuts down.
 */
export async function insist<T>(work: () => Promise<T>, untilMs: number): Promise<T> {
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
