import test from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeAttempt, storeEvent } from '../../support/seed-deliveries.ts';

const hook = { url: 'https://8.8.8.8/hook', events: ['post.published', 'post.failed'] };

test('an endpoint shows its deliveries, newest first, with every attempt in order', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const at = '2026-05-01T10:00:00.000Z';
  const older = await storeEvent(punctual, workspaceId, 'post.failed', new Date(at));
  const newer = await storeEvent(punctual, workspaceId, 'post.published');
  t.is(await storeEvent(punctual, workspaceId, 'post.partial'), undefined);
  await storeAttempt(punctual, workspaceId, [
    older,
    2,
    '2026-05-01T10:01:00Z',
    30,
    503,
    'http_error',
  ]);
  await storeAttempt(punctual, workspaceId, [older, 1, at, 10_000, null, 'timeout']);

  const reply = await client.get(`/webhooks/${id}`);

  t.is(reply.status, 200);
  const { webhook, deliveries } = reply.body;
  t.deepEqual(
    deliveries.map((delivery: { id: string }) => delivery.id),
    [newer, older],
  );
  const { event_id: eventId, ...second } = deliveries[1];
  t.regex(eventId, /^[0-9a-f\-]{36}$/v);
  const attempt = (number: number, more: object): object => ({ number, ...more });
  t.deepEqual(second, {
    id: older,
    event_type: 'post.failed',
    status: 'pending',
    attempts: [
      attempt(1, { created_at: at, duration_ms: 10_000, response_status: null, error: 'timeout' }),
      attempt(2, {
        created_at: '2026-05-01T10:01:00.000Z',
        duration_ms: 30,
        response_status: 503,
        error: 'http_error',
      }),
    ],
    response_status: 503,
    error: 'http_error',
    next_attempt_at: at,
    created_at: at,
  });
  t.like(deliveries[0], { event_type: 'post.published', attempts: [], response_status: null });
  t.deepEqual(webhook.last_delivery, {
    status: 'pending',
    response_status: null,
    error: null,
    created_at: deliveries[0].created_at,
  });
  t.false('secret' in webhook);
});

test('an endpoint shows its newest 100 deliveries and no other endpoint’s', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const first = (await client.post('/webhooks', hook)).body.webhook.id;
  await storeEvent(punctual, client.workspaceId, 'post.failed', new Date('2026-01-01T00:00:00Z'));
  const second = (await client.post('/webhooks', hook)).body.webhook.id;
  for (let n = 0; n < 100; n += 1) {
    await storeEvent(
      punctual,
      client.workspaceId,
      'post.failed',
      new Date(Date.UTC(2026, 2, 1, n)),
    );
  }

  for (const id of [first, second]) {
    const { deliveries } = (await client.get(`/webhooks/${id}`)).body;
    const times: string[] = deliveries.map(
      (delivery: { created_at: string }) => delivery.created_at,
    );
    t.is(times.length, 100);
    t.deepEqual(times, times.toSorted().toReversed());
    t.is(times.at(-1), '2026-03-01T00:00:00.000Z');
  }
});

test('an unknown endpoint is 404', async (t) => {
  const client = await newClient(await startApi(t));
  const reply = await client.get(`/webhooks/${crypto.randomUUID()}`);
  t.is(reply.status, 404);
  t.is(reply.body.code, 'not_found');
});
