import test from 'ava';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeAttempt, storeDelivery, storeEvent } from '../../support/seed-deliveries.ts';

const api = sharedApi(test);
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

/** A workspace with an endpoint. */
async function endpoint(events = hook.events) {
  const client = await api.newClient();
  const { id } = (await client.post('/webhooks', { ...hook, events })).body.webhook;
  return { client, id, path: `/webhooks/${id}/deliveries` };
}

/** Reads all pages. @returns the ids on each. */
async function pages(client: Client, path: string): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body } = await client.get(cursor === '' ? path : `${path}&cursor=${cursor}`);
    found.push(body.deliveries.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
  }

  return found;
}

test('pages list every delivery once, newest first, also with equal times', async (t) => {
  const { client, path } = await endpoint();
  const at = new Date('2026-05-01T10:00:00.123Z');
  const stored: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    const time = n < 4 ? at : new Date(at.getTime() + n);
    stored.push(await storeDelivery(api.punctual, client.workspaceId, 'delivered', time));
  }

  const newestFirst = stored.toReversed();
  const sizes = async (limit: number): Promise<number[]> => {
    const found = await pages(client, `${path}?limit=${limit}`);
    t.deepEqual(found.flat(), newestFirst);
    return found.map(({ length }) => length);
  };
  t.deepEqual(await sizes(3), [3, 3, 1]);
  t.deepEqual(await sizes(7), [7]);
  t.deepEqual(await sizes(1), [1, 1, 1, 1, 1, 1, 1]);
  t.deepEqual(
    (await client.get(path)).body.deliveries,
    (await client.get(`${path}?limit=7`)).body.deliveries,
  );
});

test('a list filtered by event type, also with a status, continues over its pages', async (t) => {
  const { client, path } = await endpoint();
  const events = ['post.failed', 'post.published'];
  await client.patch(path.replace('/deliveries', ''), { events });
  const failed = [
    await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date(1)),
    await storeDelivery(api.punctual, client.workspaceId, 'delivered', new Date(3)),
    await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date(5)),
  ];
  for (const ms of [2, 4, 6]) {
    await storeEvent(api.punctual, client.workspaceId, 'post.published', new Date(ms));
  }

  const [a, b, c] = failed;
  t.deepEqual(await pages(client, `${path}?event_type=post.failed&limit=2`), [[c, b], [a]]);
  t.deepEqual(await pages(client, `${path}?event_type=post.failed&status=failed&limit=1`), [
    [c],
    [a],
  ]);
  t.is((await pages(client, `${path}?event_type=post.published&limit=2`)).flat().length, 3);
  t.deepEqual(await pages(client, `${path}?event_type=webhook.test&limit=2`), [[]]);
});

test('an endpoint shows its deliveries, newest first, with every attempt in order', async (t) => {
  const { client, id } = await endpoint(['post.published', 'post.failed']);
  const { punctual } = api;
  const { workspaceId } = client;
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
    post_id: null,
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
    attempt_count: 2,
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
