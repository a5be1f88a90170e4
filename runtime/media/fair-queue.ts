/** Waits for a slot, and hands back what releases it. Releasing twice counts once. */
type FairQueue = (key: string, signal: AbortSignal) => Promise<() => void>;

/**
 * Lets so many in at a time. Of those who wait, one comes next whose key has the fewest inside, and of several such keys
 * the one that has waited the longest; so a thousand of one key hold up the first of another by no more than one turn.
 * Those of one key come in their order.
 *
 * @param slots.each How many of one key may be inside.
 * @throws the signal's reason when that aborts before a slot was free.
 */
export function createFairQueue(slots: { readonly all: number; readonly each: number }): FairQueue {
  const inside = new Map<string, number>();
  const lines = createLines();
  let taken = 0;

  const count = (key: string, change: 1 | -1): void => {
    taken += change;
    const now = insideOf(key) + change;
    inside[now === 0 ? 'delete' : 'set'](key, now);
  };
  const insideOf = (key: string): number => inside.get(key) ?? 0;

  const wayOut = (key: string): (() => void) => {
    let isInside = true;
    count(key, 1);
    return () => {
      if (isInside) {
        isInside = false;
        count(key, -1);
        letIn();
      }
    };
  };

  const letIn = (): void => {
    while (taken < slots.all) {
      const [next] = lines
        .keys()
        .filter((key) => insideOf(key) < slots.each)
        .toSorted((one, other) => insideOf(one) - insideOf(other));
      if (next === undefined) {
        return;
      }

      lines.takeFirst(next)?.(wayOut(next));
    }
  };

  return (key, signal) => {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const enter = (leave: () => void): void => {
      signal.removeEventListener('abort', giveUp);
      resolve(leave);
    };
    const giveUp = (): void => {
      lines.remove(key, enter);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp);
    lines.add(key, enter);
    letIn();
    return promise;
  };
}

type Waiter = (leave: () => void) => void;

/** A line for each key. */
function createLines() {
  const lines = new Map<string, Set<Waiter>>();
  return {
    /** Of those lines that are not empty; the one that was served last is the last. */
    keys: (): string[] => [...lines.keys()],
    add(key: string, waiter: Waiter): void {
      lines.set(key, (lines.get(key) ?? new Set()).add(waiter));
    },
    remove(key: string, waiter: Waiter): void {
      const line = lines.get(key);
      line?.delete(waiter);
      if (line?.size === 0) {
        lines.delete(key);
      }
    },
    takeFirst(key: string): Waiter | undefined {
      const line = lines.get(key) ?? new Set();
      const [first] = line;
      lines.delete(key);
      if (first && line.delete(first) && line.size > 0) {
        lines.set(key, line);
      }

      return first;
    },
  };
}
