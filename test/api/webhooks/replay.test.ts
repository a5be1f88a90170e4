import { ApplicationFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import type { DeliveryView } from '../../../api/webhooks/delivery-view.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { isSignedWith, startReceiver } from '../../support/receiver.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const minute = 60_000;

/**
 * A Punctual without workers: a test makes the attempts itself, as Temporal would have them made. The clock jumps over
 * the wait after each.
 */
async function world(t: ExecutionContext, answer: (n: number) => number = () => 204) {
  let aheadMs = 0;
  const receiver = await startReceiver(t, answer);
  const now = (): Date => new Date(Date.now() + aheadMs);
  const punctual = await startApi(t, { allowPorts: [receiver.port], now });
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const path = `/webhooks/${webhook.id}`;
  /** @returns how it ended, or the wait until the next one in milliseconds. */
  const attempt = (deliveryId: string): Promise<string | number> =>
    attemptDelivery(punctual.deps, { workspaceId, deliveryId }).catch((error: unknown) => {
      if (error instanceof ApplicationFailure && typeof error.nextRetryDelay === 'number') {
        aheadMs += error.nextRetryDelay;
        return error.nextRetryDelay;
      }

      throw error;
    });
  const replay = (id: string) => client.post(`${path}/deliveries/${id}/replay`);
  const seen = async (id: string): Promise<DeliveryView> =>
    (await client.get(path)).body.deliveries.find((one: DeliveryView) => one.id === id);
  return { receiver, punctual, client, workspaceId, webhook, path, attempt, replay, seen };
}

test('a replayed delivery brings the same event, byte for byte and under the same id, signed anew', async (t) => {
  const { receiver, punctual, workspaceId, webhook, attempt, replay, seen } = await world(t);
  const id = await storeDelivery(punctual, workspaceId, 'pending');
  t.is(await attempt(id), 'delivered');
  const before = await seen(id);

  const reply = await replay(id);

  t.is(reply.status, 202);
  const { next_attempt_at: next, ...delivery } = reply.body.delivery;
  t.deepEqual({ ...delivery, next_attempt_at: null }, { ...before, status: 'pending' });
  t.true(Math.abs(Date.parse(next) - Date.now()) < 30_000);
  t.is(await attempt(id), 'delivered');
  const [first, second] = receiver.received;
  t.is(receiver.received.length, 2);
  t.is(second?.body, first?.body);
  t.is(second?.headers['service-event-id'], first?.headers['service-event-id']);
  t.true(second && (await isSignedWith(webhook.secret, second)));
  const after = await seen(id);
  t.like(after, { status: 'delivered', next_attempt_at: null });
  t.deepEqual(after.attempts[0], before.attempts[0]);
  t.deepEqual(
    after.attempts.map(({ number }) => number),
    [1, 2],
  );
});

test('a replay has six attempts of its own with the usual waits, and their numbers go on', async (t) => {
  const { punctual, workspaceId, attempt, replay, seen } = await world(t, () => 503);
  const id = await storeDelivery(punctual, workspaceId, 'pending');
  const round = async (): Promise<void> => {
    for (const wait of [1, 5, 30, 120, 360]) {
      const over = Number(await attempt(id)) - wait * minute;
      t.true(
        over >= 0 && over <= (wait * minute) / 10,
        `the wait of ${wait} min is ${over} ms off`,
      );
    }

    t.is(await attempt(id), 'failed');
  };
  await round();
  for (const last of [12, 18]) {
    t.is((await replay(id)).status, 202);
    await round();
    const { status, attempts } = await seen(id);
    t.is(status, 'failed');
    t.deepEqual(
      attempts.map(({ number }) => number),
      Array.from({ length: last }, (_, index) => index + 1),
    );
  }

  t.is(await attempt(id), 'failed'); // As when Temporal did not hear: nothing more is sent.
  t.is((await seen(id)).attempts.length, 18);
});

test('a delivery that is still being tried cannot be replayed', async (t) => {
  const { punctual, workspaceId, attempt, replay, seen } = await world(t, () => 500);
  const id = await storeDelivery(punctual, workspaceId, 'pending');
  for (const made of [0, 1]) {
    const before = await seen(id);
    const reply = await replay(id);
    t.is(reply.status, 409);
    t.is(reply.body.code, 'delivery_not_final');
    t.is(before.attempts.length, made);
    t.deepEqual(await seen(id), before);
    await attempt(id);
  }
});

test('of replays at once one begins, and the others are refused', async (t) => {
  const { receiver, punctual, workspaceId, attempt, replay } = await world(t);
  const id = await storeDelivery(punctual, workspaceId, 'failed');
  const replies = await Promise.all(Array.from({ length: 20 }, () => replay(id)));
  t.deepEqual(replies.map(({ status }) => status).toSorted(), [
    202,
    ...Array.from({ length: 19 }, () => 409),
  ]);
  t.is(await attempt(id), 'delivered');
  t.is(await attempt(id), 'delivered');
  t.is(receiver.received.length, 1);
});

test('a delivery of another endpoint or workspace is not found', async (t) => {
  const { punctual, client, workspaceId, path } = await world(t);
  const id = await storeDelivery(punctual, workspaceId, 'failed');
  const other = await newClient(punctual);
  const hook = { url: 'https://8.8.8.8/hook', events: ['post.partial'] };
  const second = (await client.post('/webhooks', hook)).body.webhook.id;
  const theirs = (await other.post('/webhooks', hook)).body.webhook.id;
  const calls = [
    other.post(`${path}/deliveries/${id}/replay`),
    other.post(`/webhooks/${theirs}/deliveries/${id}/replay`),
    client.post(`/webhooks/${second}/deliveries/${id}/replay`),
    client.post(`${path}/deliveries/${crypto.randomUUID()}/replay`),
    client.post(`${path}/deliveries/nonsense/replay`),
  ];
  for (const { status, body } of await Promise.all(calls)) {
    t.is(status, 404);
    t.is(body.code, 'not_found');
  }

  t.is((await client.get(path)).body.deliveries[0].status, 'failed');
});

test('the last test of an endpoint can be replayed like any other delivery', async (t) => {
  const { receiver, client, path, attempt, replay } = await world(t);
  const { id } = (await client.post(`${path}/test`)).body.delivery;
  t.is((await replay(id)).status, 202);
  t.is(await attempt(id), 'delivered');
  t.is(receiver.received[1]?.body, receiver.received[0]?.body);
});
