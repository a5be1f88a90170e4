import { setTimeout as sleep } from 'node:timers/promises';
import { createTurnstile } from '../../../runtime/egress/turnstile.ts';
import type { Subscribed } from './world.ts';

/** Attempts at a time: fewer than a worker makes, as a test's database has few connections. */
const slots = 16;

/** By how much less it waits than an attempt asks for: a thousand behind an endpoint that hangs wait for minutes. */
const timesFaster = 10;

/**
 * Delivers as a worker does that Temporal gives everything at once: it makes so many attempts at a time, and each
 * delivery comes back after the wait that it asks for.
 *
 * @returns a function that delivers one to its end, and resolves with how that was.
 */
export function workerSlots(): (of: Subscribed, deliveryId: string) => Promise<string> {
  const enter = createTurnstile(slots);
  const { signal } = new AbortController();
  return async ({ attempt }, deliveryId) => {
    for (;;) {
      const leave = await enter('worker', signal);
      const attempted = await attempt(deliveryId).finally(leave);
      if (attempted.kind === 'done') {
        return attempted.status;
      }

      await sleep((attempted.inMs ?? 0) / timesFaster);
    }
  };
}
