/** What a batch came to, and where in it one call stood: from 1 to `size`. */
export type Batched<T> = { readonly result: T; readonly place: number; readonly size: number };

type Waiting<T> = {
  readonly resolve: (batched: Batched<T>) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Joins calls that come at the same time: for each key one run is under way at most, and whoever comes meanwhile
 * waits for the next, which is for all of them. So every run begins after the calls that it is for, and its answer
 * is as fresh as one of their own; a busy key costs one round trip for many calls, a quiet one what it always did.
 *
 * @param run Is told for how many calls it is.
 */
export function inBatches<T>(
  run: (key: string, size: number) => Promise<T>,
): (key: string) => Promise<Batched<T>> {
  const waitingFor = new Map<string, Waiting<T>[]>();

  async function runUntilNobodyWaits(key: string): Promise<void> {
    for (let batch = take(key); batch.length > 0; batch = take(key)) {
      try {
        const result = await run(key, batch.length);
        for (const [index, { resolve }] of batch.entries()) {
          resolve({ result, place: index + 1, size: batch.length });
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
      void runUntilNobodyWaits(key);
    });
}
