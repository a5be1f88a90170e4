/** Lets in, waits while the place is full, and hands back the way out. Leaving twice counts once. */
export type Turnstile = (key: string, signal: AbortSignal) => Promise<() => void>;

type Place = { inside: number; readonly waiting: Set<() => void> };

/**
 * Lets at most `limit` in at a time per key; the others wait in line and go away when their signal aborts.
 *
 * @throws The signal's reason.
 */
export function createTurnstile(limit: number): Turnstile {
  const places = new Map<string, Place>();

  const wayOut = (key: string, place: Place) => {
    let isInside = true;
    place.inside += 1;
    return () => {
      if (!isInside) {
        return;
      }

      isInside = false;
      place.inside -= 1;
      const [next] = place.waiting;
      if (next) {
        next();
      } else if (place.inside === 0) {
        places.delete(key);
      }
    };
  };

  return async (key, signal) => {
    signal.throwIfAborted();
    const place = places.get(key) ?? { inside: 0, waiting: new Set() };
    places.set(key, place);
    if (place.inside < limit) {
      return wayOut(key, place);
    }

    const turn = Promise.withResolvers<() => void>();
    const enter = () => {
      stopWaiting();
      turn.resolve(wayOut(key, place));
    };
    const giveUp = () => {
      stopWaiting();
      turn.reject(signal.reason);
    };
    const stopWaiting = () => {
      place.waiting.delete(enter);
      signal.removeEventListener('abort', giveUp);
    };
    place.waiting.add(enter);
    signal.addEventListener('abort', giveUp);
    return turn.promise;
  };
}
