/** Waits for a slot of this key, and hands back what releases it. Releasing twice counts once. */
export type KeyedSemaphore = (key: string, signal: AbortSignal) => Promise<() => void>;

type Slots = { taken: number; readonly waiting: Set<() => void> };

/**
 * Gives out at most `limit` slots at a time per key; the others wait in line and leave it when their signal aborts.
 *
 * @throws The signal's reason.
 */
export function createKeyedSemaphore(limit: number): KeyedSemaphore {
  const slotsByKey = new Map<string, Slots>();

  const take = (key: string, slots: Slots) => {
    let isHeld = true;
    slots.taken += 1;
    return () => {
      if (!isHeld) {
        return;
      }

      isHeld = false;
      slots.taken -= 1;
      const [next] = slots.waiting;
      if (next) {
        next();
      } else if (slots.taken === 0) {
        slotsByKey.delete(key);
      }
    };
  };

  return async (key, signal) => {
    signal.throwIfAborted();
    const slots = slotsByKey.get(key) ?? { taken: 0, waiting: new Set() };
    slotsByKey.set(key, slots);
    if (slots.taken < limit) {
      return take(key, slots);
    }

    const turn = Promise.withResolvers<() => void>();
    const enter = () => {
      stopWaiting();
      turn.resolve(take(key, slots));
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
