import test from 'ava';
import { listDeliveries } from '../../../services/webhooks/read-deliveries.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { planOf, watched } from '../../support/query-plan.ts';
import {
  storeAttempt,
  storeDelivery,
  storeEvent,
  storeMany,
} from '../../support/seed-deliveries.ts';

const api = sharedApi(test);
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

/** A workspace with an endpoint. */
async function endpoint(events = hook.events) {
  const client = await api.newClient();
  const { id } = (await client.post('/webhooks', { ...hook, events })).body.webhook;
  return { client, id, path: `/webhooks/${id}/deliveries` };
}

// Runs first, so that PostgreSQL plans for its rows only.
test.serial(
  'a page is one statement, and the first row of the next one is found by an index',
  async (t) => {
    const { orm } = api.punctual;
    const { client, id } = await endpoint();
    await storeMany(orm, client.workspaceId, 2000);
    const scope = [client.workspaceId, id] as const;
    const { next_cursor: cursor } = await listDeliveries(orm.em.fork(), ...scope, {});
    const { em, queries } = watched(orm.em.fork());

    const page = await listDeliveries(em, ...scope, { cursor: cursor ?? '' });

    t.is(page.deliveries.length, 100);
    t.is(queries.length, 1);
    const plan = await planOf(orm, queries[0]);
    t.regex(plan, /Index Scan Backward using deliveries_newest on deliveries d/v);
    t.regex(plan, /Index Cond: .*ROW\(created_at, id\) < ROW/v);
    t.false(plan.includes('Sort'), plan);
    t.true(plan.includes('delivery_attempts_delivery_id_number_unique'), plan);
  },
);

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

test('new deliveries do not shift the next page', async (t) => {
  const { client, path } = await endpoint();
  const older = await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date(1000));
  await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date(2000));
  const first = (await client.get(`${path}?limit=1`)).body;
  await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date(3000));

  const second = (await client.get(`${path}?limit=1&cursor=${first.next_cursor}`)).body;

  t.is(second.deliveries[0].id, older);
  t.is(second.deliveries[0].attempts.length, 6);
  t.is(second.next_cursor, null);
});

test('a list filtered by status continues over its pages', async (t) => {
  const { client, path } = await endpoint();
  const store = (status: 'failed' | 'delivered' | 'pending', ms: number): Promise<string> =>
    storeDelivery(api.punctual, client.workspaceId, status, new Date(ms));
  const [a, b, c] = [
    await store('failed', 1),
    await store('delivered', 2),
    await store('failed', 3),
  ];
  const pending = await store('pending', 4);

  t.deepEqual(await pages(client, `${path}?status=failed&limit=1`), [[c], [a]]);
  t.deepEqual(await pages(client, `${path}?status=delivered&limit=1`), [[b]]);
  t.deepEqual(await pages(client, `${path}?status=pending&limit=1`), [[pending]]);
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

const encoded = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url');
const someId = '0192f0d8-4e1a-7b6c-8f93-1d5a7c2e9b48';

test('a cursor of any time is accepted', async (t) => {
  const { client, path } = await endpoint();
  await storeDelivery(api.punctual, client.workspaceId, 'failed');
  for (const [year, seen] of [
    ['1970', 0],
    ['9999', 1],
  ] as const) {
    const cursor = encoded([`${year}-01-01T00:00:00.000Z`, someId]);
    const reply = await client.get(`${path}?cursor=${cursor}`);
    t.is(reply.status, 200, year);
    t.is(reply.body.deliveries.length, seen);
  }
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
