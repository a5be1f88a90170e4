/** The result of a batch and the call's position in it, from 1 to `size`. */
export type Batched<T> = { readonly result: T; readonly position: number; readonly size: number };

type Waiting<T> = {
  readonly resolve: (batched: Batched<T>) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Batches concurrent calls: each key has at most one run under way, and calls that arrive meanwhile share the next
 * run. Every run starts after all of its calls, so its result is as fresh as a separate run; a burst costs a few round
 * trips, a single call one.
 *
 * @param run Receives the number of calls in the batch.
 */
export function inBatches<T>(
  run: (key: string, size: number) => Promise<T>,
): (key: string) => Promise<Batched<T>> {
  const waitingFor = new Map<string, Waiting<T>[]>();

  async function runUntilNoneWaits(key: string): Promise<void> {
    for (let batch = take(key); batch.length > 0; batch = take(key)) {
      try {
        const result = await run(key, batch.length);
        for (const [index, { resolve }] of batch.entries()) {
          resolve({ result, position: index + 1, size: batch.length });
        }
      } catch (error) {
        for (const { reject } of batch) {
          reject(error);
        }
      }
    }

    waitingFor.delete(key);
  }

  function take(key: string): Waiting<T>[] {
    const batch = waitingFor.get(key) ?? [];
    waitingFor.set(key, []);
    return batch;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const waiting = waitingFor.get(key);
      if (waiting) {
        waiting.push({ resolve, reject });
        return;
      }

      waitingFor.set(key, [{ resolve, reject }]);
      void runUntilNoneWaits(key);
    });
}
