/** Waits for a slot of a key. Returns a function that releases it, once. */
export type KeyedSemaphore = (key: string, signal: AbortSignal) => Promise<() => void>;

type Slots = { used: number; readonly waiting: Set<() => void> };

/**
 * Grants at most `limit` slots per key at a time; others wait in order, until their signal aborts.
 *
 * @throws The signal's reason.
 */
export function createKeyedSemaphore(limit: number): KeyedSemaphore {
  const slotsByKey = new Map<string, Slots>();

  const acquireSlot = (key: string, slots: Slots) => {
    let isHeld = true;
    slots.used += 1;
    return () => {
      if (!isHeld) {
        return;
      }

      isHeld = false;
      slots.used -= 1;
      const [next] = slots.waiting;
      if (next) {
        next();
      } else if (slots.used === 0) {
        slotsByKey.delete(key);
      }
    };
  };

  return async (key, signal) => {
    signal.throwIfAborted();
    const slots = slotsByKey.get(key) ?? { used: 0, waiting: new Set() };
    slotsByKey.set(key, slots);
    if (slots.used < limit) {
      return acquireSlot(key, slots);
    }

    const turn = Promise.withResolvers<() => void>();
    const enter = () => {
      stopWaiting();
      turn.resolve(acquireSlot(key, slots));
    };
    const giveUp = () => {
      stopWaiting();
      turn.reject(signal.reason);
    };
    const stopWaiting = () => {
      slots.waiting.delete(enter);
      signal.removeEventListener('abort', giveUp);
    };
    slots.waiting.add(enter);
    signal.addEventListener('abort', giveUp);
    return turn.promise;
  };
}

/** Waits for a slot. Returns a function that releases it, once. */
type FairQueue = (key: string, signal: AbortSignal) => Promise<() => void>;

/**
 * Semaphore that serves the key with the fewest holders first, and among those the key that has waited longest. A
 * thousand waiters of one key delay the first of another key by one slot at most. Waiters of one key are served in
 * order.
 *
 * @param slots.all The most slots in use.
 * @param slots.each The most slots of one key.
 * @throws the signal's reason when that aborts before a slot was free.
 */
export function createFairQueue(slots: { readonly all: number; readonly each: number }): FairQueue {
  const holders = new Map<string, number>();
  const lines = createLines();
  let used = 0;

  const count = (key: string, change: 1 | -1): void => {
    used += change;
    const now = holdersOf(key) + change;
    holders[now === 0 ? 'delete' : 'set'](key, now);
  };
  const holdersOf = (key: string): number => holders.get(key) ?? 0;

  const holdSlot = (key: string): (() => void) => {
    let isInside = true;
    count(key, 1);
    return () => {
      if (isInside) {
        isInside = false;
        count(key, -1);
        grantSlots();
      }
    };
  };

  const grantSlots = (): void => {
    while (used < slots.all) {
      const [next] = lines
        .keys()
        .filter((key) => holdersOf(key) < slots.each)
        .toSorted((one, other) => holdersOf(one) - holdersOf(other));
      if (next === undefined) {
        return;
      }

      lines.takeFirst(next)?.(holdSlot(next));
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
    grantSlots();
    return promise;
  };
}

type Waiter = (leave: () => void) => void;

/** A queue for each key. */
function createLines() {
  const lines = new Map<string, Set<Waiter>>();
  return {
    /** Keys of the non-empty queues; the key served last is last. */
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

/**
 * Runs `work` for each item in order, at most `width` at once. `work` must catch its own errors: the first rejection is
 * thrown while other items are still running.
 */
export async function forEachLimit<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const takeTurns = async (): Promise<void> => {
    for (const item of rest) {
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, takeTurns));
}
