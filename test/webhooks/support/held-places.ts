import type { ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../../activities/deps.ts';
import type { Answer } from '../../support/answers.ts';
import { heldClock } from '../../support/database-clock.ts';
import { patient } from '../../support/patient-egress.ts';
import type { AttemptedDelivery, Subscription, Webhooks } from '../../support/webhooks.ts';

export const delivered: AttemptedDelivery = { kind: 'done', status: 'delivered' };

export type EndpointWithHeldPlaces = Subscription & {
  /** Lets so much time pass, for the places too. In milliseconds. */
  readonly hold: (ms: number) => Promise<void>;
};

/**
 * Makes an endpoint whose places are held by a clock that stands still, also in the database, and whose requests never
 * give up: however slow the machine, no place comes free by itself.
 */
export async function endpointWithHeldPlaces(
  t: ExecutionContext,
  api: Webhooks,
  answer?: Answer,
): Promise<EndpointWithHeldPlaces> {
  const subscribed = await api.subscribe(answer);
  const { deps, now, pass, attempt } = subscribed;
  const clock = await heldClock(t, api.punctual.databaseUrl, now().getTime());
  const own: Partial<ActivityDeps> = { orm: clock.orm, egress: patient(deps.egress) };
  return {
    ...subscribed,
    attempt: (id, others = {}) => attempt(id, { ...own, ...others }),
    hold: async (ms) => {
      pass(ms);
      clock.pass(ms);
      await clock.caughtUp();
    },
  };
}

/** Events of an endpoint. @returns their deliveries. */
export const events = ({ event }: Subscription, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => event()));
