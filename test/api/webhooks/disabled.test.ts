import { readFileSync } from 'node:fs';
import test from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import type { DeliveryView } from '../../../services/webhooks/read-deliveries.ts';
import { status, type Answer } from '../../support/answers.ts';
import { attempt as attemptOnce } from '../../support/attempt.ts';
import { newClient, type Client } from '../../support/client.ts';
import { poll } from '../../support/poll.ts';
import { startApi } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeAttempt, storeDelivery } from '../../support/seed-deliveries.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';

const api = sharedWebhooks(test);
const hour = 3_600_000;
const failed = { kind: 'done', status: 'failed' } as const;
const disabledByUs = { enabled: false, disabled_reason: 'failing' };
const healthy = { enabled: true, disabled_at: null, disabled_reason: null, failing_since: null };

/** A failing endpoint. The test makes the attempts, on a clock that it moves; the API uses the machine's clock. */
async function endpoint(answer: Answer = status(503)) {
  const subscribed = await api.subscribe(answer);
  const { client, workspaceId, path, store, now, pass } = subscribed;
  pass(0);
  return {
    ...subscribed,
    /** A delivery before its last attempt. */
    lastChance: async (): Promise<string> => {
      const delivery = await store('pending');
      for (const number of [1, 2, 3, 4, 5]) {
        const row = [delivery, number, now(), 5, 503, 'http_error'];
        await storeAttempt(api.punctual, workspaceId, row);
      }

      return delivery;
    },
    seen: async () => (await client.get(path)).body,
    edit: async (change: object) => (await client.patch(path, change)).body.webhook,
    replay: (delivery: string) => client.post(`${path}/deliveries/${delivery}/replay`),
    replaySince: () => client.post(`${path}/replay?since=2020-01-01T00:00:00Z`),
  };
}

/** The same, disabled after five days of failures, at the end of its last delivery. */
async function disabledEndpoint() {
  const here = await endpoint();
  const { attempt, lastChance, store, pass } = here;
  await attempt(await store('pending'));
  pass(120 * hour);
  await attempt(await lastChance());
  return here;
}

test('a failing endpoint shows since when, and after five days that it is disabled, with time and reason', async (t) => {
  const { attempt, store, lastChance, pass, seen, now } = await endpoint();
  const began = now().toISOString();
  await attempt(await store('pending'));
  t.like((await seen()).webhook, { enabled: true, failing_since: began, disabled_at: null });

  pass(119 * hour);
  t.deepEqual(await attempt(await lastChance()), failed);
  t.like((await seen()).webhook, { enabled: true, failing_since: began });

  pass(hour);
  const at = now().toISOString();
  t.deepEqual(await attempt(await lastChance()), failed);
  const { webhook } = await seen();
  t.like(webhook, { ...disabledByUs, disabled_at: at, failing_since: began });
});

test('deliveries of a disabled endpoint are listed as failed, with the reason and without an attempt', async (t) => {
  const { event, seen, receiver, pass } = await disabledEndpoint();
  const before = receiver.arrived.length;
  pass(hour);

  t.is(await event(), ''); // No delivery to start.

  const { webhook, deliveries } = await seen();
  t.like(deliveries[0], { status: 'failed', error: 'endpoint_disabled', response_status: null });
  t.deepEqual([deliveries[0].attempts, deliveries[0].next_attempt_at], [[], null]);
  t.like(webhook.last_delivery, { status: 'failed', error: 'endpoint_disabled' });
  t.is(receiver.arrived.length, before);
});

test('after enabling, one replay delivers the missed and failed events with the same ids', async (t) => {
  const here = await disabledEndpoint();
  const { attempt, event, edit, replaySince, seen, receiver, pass } = here;
  await event();
  await event();
  const missed: DeliveryView[] = (await seen()).deliveries.filter(
    (delivery: DeliveryView) => delivery.status === 'failed',
  );
  t.is(missed.length, 3); // The last one before, and two more.

  t.like(await edit({ enabled: true }), healthy);
  t.deepEqual((await replaySince()).body, { replaying: 4 }); // And the first one, which waits.
  t.deepEqual((await replaySince()).body, { replaying: 0 });

  pass(hour);
  receiver.answer = status(204);
  const before = receiver.arrived.length;
  for (const { id } of missed) {
    t.deepEqual(await attempt(id), { kind: 'done', status: 'delivered' });
  }
  const sent = receiver.arrived.slice(before);
  t.deepEqual(
    sent.map(({ headers }) => headers['service-event-id']),
    missed.map(({ event_id: eventId }) => eventId),
  );
  const after: DeliveryView[] = (await seen()).deliveries;
  for (const { id } of missed) {
    t.like(
      after.find((delivery) => delivery.id === id),
      { status: 'delivered', error: null, response_status: 204 },
    );
  }
});

test('a disabled endpoint refuses replays with advice', async (t) => {
  const { client, edit, store, replay, replaySince, seen } = await endpoint();
  const [ended, delivered, pending] = [
    await store('failed'),
    await store('delivered'),
    await store('pending'),
  ];
  await edit({ enabled: false });
  const before = (await seen()).deliveries;

  const refused = [
    await replay(ended),
    await replay(delivered),
    await replay(pending),
    await replaySince(),
  ];

  for (const { status: code, body } of refused) {
    t.is(code, 409);
    t.is(body.code, 'webhook_disabled');
    t.true(body.error.includes('PATCH'));
  }
  t.is((await replay(crypto.randomUUID())).status, 404);
  t.deepEqual((await seen()).deliveries, before);
  const other = await client.post('/webhooks', {
    url: 'https://8.8.8.8/',
    events: ['post.failed'],
  });
  t.is(
    (await client.post(`/webhooks/${other.body.webhook.id}/replay?since=2020-01-01T00:00:00Z`))
      .status,
    202,
  );
});

test('an endpoint that its owner disabled has that reason, and gets no more requests', async (t) => {
  const { receiver, edit, store, attempt, seen } = await endpoint(status(204));
  const underWay = await store('pending');
  const before = Date.now();
  const { disabled_at: at } = await edit({ enabled: false });
  t.true(Date.parse(at) >= before && Date.parse(at) <= Date.now());
  const requested = { enabled: false, disabled_at: at, disabled_reason: 'requested' };

  t.like((await seen()).webhook, requested);
  await poll(
    async () => Date.now(),
    (now) => now > Date.parse(at),
  ); // The time would be different.
  t.like(await edit({ enabled: false }), requested); // The time is unchanged.
  t.like(await edit({ description: 'Ours' }), requested);

  t.deepEqual(await attempt(underWay), failed);
  t.is(receiver.arrived.length, 0);
  t.like((await seen()).deliveries[0], { status: 'failed', error: 'endpoint_disabled' });
  t.like(await edit({ enabled: true }), healthy);
  t.deepEqual(await attempt(await store('pending')), { kind: 'done', status: 'delivered' });
});

test('a new URL restarts the five days, and the same URL does not', async (t) => {
  const { receiver, attempt, store, edit, now } = await endpoint();
  const began = now().toISOString();
  await attempt(await store('pending'));

  t.is((await edit({ url: receiver.url, description: 'Ours' })).failing_since, began);
  t.is((await edit({ events: ['post.failed'] })).failing_since, began);
  t.is((await edit({ enabled: true })).failing_since, began);
  t.is((await edit({ url: `${receiver.url}/new` })).failing_since, null);
});

const page = readFileSync(new URL('../../../docs/operate/operations.md', import.meta.url), 'utf8');

/** The SQL statements of the page for operators, in order: select, enable, replay. */
const statements = [...page.matchAll(/psql "\$DATABASE_URL" -c "(?<sql>[^"]+)"/gv)].map(
  ({ groups }) => groups?.['sql'] ?? '',
);

test('after an outage of our own network the documented statements enable the endpoints and replay the deliveries', async (t) => {
  const began = new Date('2026-05-01T10:00:00.000Z');
  const receiver = await startReceiver(t);
  // The statements cover all workspaces, so the test has its own database.
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const em = punctual.orm.em.fork();
  const [first, second] = [await newClient(punctual), await newClient(punctual)];
  const register = async (client: Client): Promise<string> =>
    (await client.post('/webhooks', { url: receiver.url, events: ['post.failed'] })).body.webhook
      .id;
  const endpoints = [await register(first), await register(second)];
  const before = new Date(began.getTime() - 1);
  const old = await storeDelivery(punctual, first.workspaceId, 'failed', before);
  const missed = await storeDelivery(punctual, first.workspaceId, 'failed', began);
  const delivered = await storeDelivery(punctual, first.workspaceId, 'delivered', began);
  const requested = await storeDelivery(punctual, second.workspaceId, 'failed', began);
  const disable = `update webhook_endpoints set failing_since = ?, disabled_at = ?, disabled_reason = ? where id = ?`;
  await em.execute(disable, [before, began, 'failing', endpoints[0]]);
  await em.execute(disable, [null, began, 'requested', endpoints[1]]);
  const [select = '', enable = '', replay = ''] = statements;
  t.is(statements.length, 3);

  t.is((await em.execute<unknown[]>(select)).length, 2);
  for (const sql of [enable, replay]) {
    t.true(sql.includes(`'2027-03-01T08:00:00Z'`));
    await em.execute(sql.replaceAll('2027-03-01T08:00:00Z', began.toISOString()));
  }

  const shown = async (client: Client, index: number) =>
    (await client.get(`/webhooks/${endpoints[index]}`)).body.webhook;
  t.like(await shown(first, 0), { enabled: true, disabled_reason: null, failing_since: null });
  t.like(await shown(second, 1), { enabled: false, disabled_reason: 'requested' });
  const rows = await em.execute<object[]>(
    `select id, status, synced_round < round as unsynced, attempts_before from deliveries`,
  );
  const row = (id: string) => rows.find((one) => 'id' in one && one.id === id);
  t.like(row(missed), { status: 'pending', unsynced: true, attempts_before: 6 });
  for (const [id, end] of [
    [old, 'failed'],
    [delivered, 'delivered'],
    [requested, 'failed'],
  ] as const) {
    t.like(row(id), { status: end, unsynced: false });
  }

  const request = { workspaceId: first.workspaceId, deliveryId: missed };
  t.like(await attemptOnce(attemptDelivery, punctual.deps, request), { status: 'delivered' });
  t.is(receiver.received.length, 1);
});
