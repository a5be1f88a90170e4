import type { Answer } from '../../support/answers.ts';
import type { AttemptedDelivery, Subscription, Webhooks } from '../../support/webhooks.ts';

export const delivered: AttemptedDelivery = { kind: 'done', status: 'delivered' };

export type EndpointWithHeldSlots = Subscription & {
  /** Advances the clock by `ms`. */
  readonly hold: (ms: number) => Promise<void>;
};

/** An endpoint whose slots are held by a stopped clock, so that none is released on a slow machine. */
export async function endpointWithHeldSlots(
  api: Webhooks,
  answer?: Answer,
): Promise<EndpointWithHeldSlots> {
  const subscribed = await api.subscribe(answer);
  const { pass, caughtUp } = subscribed;
  const hold = (ms: number): Promise<void> => {
    pass(ms);
    return caughtUp();
  };
  await hold(0);
  return Object.assign(subscribed, { hold });
}

/** Creates events for an endpoint. @returns their deliveries. */
export const events = ({ event }: Subscription, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => event()));
