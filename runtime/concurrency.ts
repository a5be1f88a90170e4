/** Waits for a slot of a key. Returns a function that releases it, once. */
export type KeyedSemaphore = (key: string, signal: AbortSignal) => Promise<() => void>;

type Slots = { used: number; readonly waiting: Set<() => void> };

/** Grants at most `limit` slots per key at a time; others wait in order. @throws the signal's reason. */
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

/** Takes a slot of each semaphore, one after the other. Returns a function that releases them. */
export async function enterEach(
  semaphores: readonly KeyedSemaphore[],
  keys: readonly string[],
  signal: AbortSignal,
): Promise<() => void> {
  const held: (() => void)[] = [];
  const leave = (): void => held.forEach((release) => release());
  try {
    for (const [index, enter] of semaphores.entries()) {
      held.unshift(await enter(keys[index] ?? '', signal));
    }

    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * At most `all` slots in use, and `each` of one key. A thousand waiters of one key delay another key by `each` slots at
 * most: the others wait outside the common queue.
 */
export function createFairQueue(slots: Readonly<Record<'all' | 'each', number>>): KeyedSemaphore {
  const semaphores = [createKeyedSemaphore(slots.each), createKeyedSemaphore(slots.all)];
  return (key, signal) => enterEach(semaphores, [key], signal);
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
