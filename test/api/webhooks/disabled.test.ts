import { ApplicationFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import type { DeliveryView } from '../../../api/webhooks/delivery-view.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeAttempt, storeDelivery, storeEvent } from '../../support/seed-deliveries.ts';

const began = '2027-03-01T09:00:00.000Z';
const hour = 3_600_000;
const disabledByUs = { enabled: false, disabled_reason: 'failing' };
const healthy = { enabled: true, disabled_at: null, disabled_reason: null, failing_since: null };

/** A Punctual whose clock the test moves, without workers: a test makes the attempts itself. */
async function world(t: ExecutionContext, answer: () => number = () => 503) {
  let nowMs = Date.parse(began);
  const now = (): Date => new Date(nowMs);
  const receiver = await startReceiver(t, () => answer());
  const punctual = await startApi(t, { allowPorts: [receiver.port], now });
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const path = `/webhooks/${id}`;
  const attempt = (deliveryId: string): Promise<unknown> =>
    attemptDelivery(punctual.deps, { workspaceId, deliveryId }).catch((error: unknown) =>
      error instanceof ApplicationFailure ? error.nextRetryDelay : Promise.reject(error),
    );
  return {
    receiver,
    punctual,
    client,
    path,
    now,
    attempt,
    pass: (ms: number): void => {
      nowMs += ms;
    },
    store: (status: 'pending' | 'delivered' | 'failed') =>
      storeDelivery(punctual, workspaceId, status, now()),
    event: () => storeEvent(punctual, workspaceId, 'post.failed', now()),
    /** A delivery whose next attempt is its last one. */
    lastChance: async (): Promise<string> => {
      const delivery = await storeDelivery(punctual, workspaceId, 'pending', now());
      for (const number of [1, 2, 3, 4, 5]) {
        await storeAttempt(punctual, workspaceId, [delivery, number, now(), 5, 503, 'http_error']);
      }

      return delivery;
    },
    shown: async () => (await client.get(path)).body,
    edit: async (change: object) => (await client.patch(path, change)).body.webhook,
    replay: (delivery: string) => client.post(`${path}/deliveries/${delivery}/replay`),
    replaySince: () => client.post(`${path}/replay?since=${began}`),
  };
}

/** The same, where the endpoint took nothing for five days and was disabled at its last delivery's end. */
async function disabledWorld(t: ExecutionContext, answer?: () => number) {
  const here = await world(t, answer);
  const { attempt, lastChance, store, pass } = here;
  await attempt(await store('pending'));
  pass(120 * hour);
  await attempt(await lastChance());
  return here;
}

test('an endpoint that takes nothing shows since when, and after five days that it is disabled, when and why', async (t) => {
  const { attempt, store, lastChance, pass, shown, now } = await world(t);
  await attempt(await store('pending'));
  t.like((await shown()).webhook, { enabled: true, failing_since: began, disabled_at: null });

  pass(119 * hour);
  t.is(await attempt(await lastChance()), 'failed');
  t.like((await shown()).webhook, { enabled: true, failing_since: began });

  pass(hour);
  const at = now().toISOString();
  t.is(await attempt(await lastChance()), 'failed');
  const { webhook } = await shown();
  t.like(webhook, { ...disabledByUs, disabled_at: at, failing_since: began });
});

test('what a disabled endpoint misses is listed as failed, with the reason and without an attempt', async (t) => {
  const { event, shown, receiver, pass } = await disabledWorld(t);
  const before = receiver.received.length;
  pass(hour);

  t.is(await event(), undefined); // Nothing to start.

  const { webhook, deliveries } = await shown();
  t.like(deliveries[0], { status: 'failed', error: 'endpoint_disabled', response_status: null });
  t.deepEqual([deliveries[0].attempts, deliveries[0].next_attempt_at], [[], null]);
  t.like(webhook.last_delivery, { status: 'failed', error: 'endpoint_disabled' });
  t.is(receiver.received.length, before);
});

test('once it is enabled, what it missed and what failed comes by one replay, under the same event ids', async (t) => {
  let status = 503;
  const here = await disabledWorld(t, () => status);
  const { attempt, event, edit, replaySince, shown, receiver } = here;
  await event();
  await event();
  const failed: DeliveryView[] = (await shown()).deliveries.filter(
    (delivery: DeliveryView) => delivery.status === 'failed',
  );
  t.is(failed.length, 3); // Its last one before that, and two.

  t.like(await edit({ enabled: true }), healthy);
  t.deepEqual((await replaySince()).body, { replaying: 3 });
  t.deepEqual((await replaySince()).body, { replaying: 0 });

  status = 204;
  const before = receiver.received.length;
  for (const { id } of failed) {
    t.is(await attempt(id), 'delivered');
  }
  const sent = receiver.received.slice(before);
  t.deepEqual(
    sent.map(({ headers }) => headers['service-event-id']),
    failed.map(({ event_id: eventId }) => eventId),
  );
  const after: DeliveryView[] = (await shown()).deliveries;
  for (const { id } of failed) {
    t.like(
      after.find((delivery) => delivery.id === id),
      { status: 'delivered', error: null, response_status: 204 },
    );
  }
});

test('an endpoint that is enabled again has five days of its own', async (t) => {
  const { attempt, lastChance, edit, pass, shown, now } = await disabledWorld(t);
  await edit({ enabled: true });
  const enabledAt = now().toISOString();

  await attempt(await lastChance());
  t.like((await shown()).webhook, { enabled: true, failing_since: enabledAt });
  pass(119 * hour);
  await attempt(await lastChance());
  t.true((await shown()).webhook.enabled);
  pass(hour);
  await attempt(await lastChance());
  t.like((await shown()).webhook, disabledByUs);
});

test('a disabled endpoint refuses replays and says what to do, but for what is still being tried', async (t) => {
  const { client, edit, store, replay, replaySince, shown } = await world(t);
  const [failed, delivered, pending] = [
    await store('failed'),
    await store('delivered'),
    await store('pending'),
  ];
  await edit({ enabled: false });
  const before = (await shown()).deliveries;

  const refused = [await replay(failed), await replay(delivered), await replaySince()];

  for (const { status, body } of refused) {
    t.is(status, 409);
    t.is(body.code, 'webhook_disabled');
    t.true(body.error.includes('PATCH'));
  }
  t.is((await replay(pending)).body.code, 'delivery_not_final');
  t.is((await replay(crypto.randomUUID())).status, 404);
  t.deepEqual((await shown()).deliveries, before);
  const other = await client.post('/webhooks', {
    url: 'https://8.8.8.8/',
    events: ['post.failed'],
  });
  t.is((await client.post(`/webhooks/${other.body.webhook.id}/replay?since=${began}`)).status, 202);
});

test('its owner disables an endpoint, which is said so, and nothing is sent from then on', async (t) => {
  const { receiver, edit, store, attempt, shown, pass } = await world(t, () => 204);
  const underWay = await store('pending');
  const requested = { enabled: false, disabled_at: began, disabled_reason: 'requested' };

  t.like(await edit({ enabled: false }), requested);
  pass(hour);
  t.like(await edit({ enabled: false }), requested); // The time stays.
  t.like(await edit({ description: 'Ours' }), requested);

  t.is(await attempt(underWay), 'failed');
  t.is(receiver.received.length, 0);
  t.like((await shown()).deliveries[0], { status: 'failed', error: 'endpoint_disabled' });
  t.like(await edit({ enabled: true }), healthy);
  t.is(await attempt(await store('pending')), 'delivered');
});

test('an endpoint that was disabled between two attempts says that, and not what the first of them met', async (t) => {
  const { edit, store, attempt, shown, pass } = await world(t);
  const delivery = await store('pending');
  await attempt(delivery);
  await edit({ enabled: false });
  pass(hour);

  t.is(await attempt(delivery), 'failed');

  const { webhook, deliveries } = await shown();
  t.is(deliveries[0].error, 'endpoint_disabled');
  t.is(deliveries[0].attempts[0].error, 'http_error');
  t.is(webhook.last_delivery.error, 'endpoint_disabled');
});

test('another URL gives an endpoint five days of its own, the same one sent again does not', async (t) => {
  const { receiver, attempt, store, edit } = await world(t);
  await attempt(await store('pending'));

  t.is((await edit({ url: receiver.url, description: 'Ours' })).failing_since, began);
  t.is((await edit({ events: ['post.failed'] })).failing_since, began);
  t.is((await edit({ enabled: true })).failing_since, began);
  t.is((await edit({ url: `${receiver.url}/new` })).failing_since, null);
});

test('a disabled endpoint that gets another URL stays disabled until it is enabled', async (t) => {
  const { receiver, edit } = await disabledWorld(t);
  const url = `${receiver.url}/new`;
  t.like(await edit({ url }), { url, ...disabledByUs, failing_since: null });
  t.like(await edit({ enabled: true }), { url, ...healthy });
});
