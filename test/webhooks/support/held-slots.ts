import type { Answer } from '../../support/answers.ts';
import type { AttemptedDelivery, Subscription, Webhooks } from '../../support/webhooks.ts';

export const delivered: AttemptedDelivery = { kind: 'done', status: 'delivered' };

/** An endpoint whose slots are held by a stopped clock, so that none is released on a slow machine. */
export async function endpointWithHeldSlots(api: Webhooks, answer?: Answer): Promise<Subscription> {
  const subscribed = await api.subscribe(answer);
  subscribed.pass(0);
  await subscribed.caughtUp();
  return subscribed;
}

/** Creates events for an endpoint. @returns their deliveries. */
export const events = ({ event }: Subscription, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => event()));
