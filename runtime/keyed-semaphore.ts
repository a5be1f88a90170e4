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
