import test from 'ava';
import { loadDelivery } from '../../../services/webhooks/read-deliveries.ts';
import { loadEndpoints } from '../../../services/webhooks/read-endpoints.ts';
import { sharedApi } from '../../support/kit.ts';
import { aroundQueries, planOf, watched } from '../../support/query-plan.ts';
import {
  storeAttempt,
  storeDelivery,
  storeEvent,
  storeMany,
} from '../../support/seed-deliveries.ts';

const api = sharedApi(test);

const hook = (name: string, events = ['post.failed']): object => ({
  url: `https://8.8.8.8/${name}`,
  events,
  description: name,
});

/** A workspace with an endpoint, as the API shows it. */
async function editable() {
  const client = await api.newClient();
  const { secret: _, ...webhook } = (await client.post('/webhooks', hook('Ours'))).body.webhook;
  return { client, webhook, path: `/webhooks/${webhook.id}` };
}

// Runs first, so that PostgreSQL plans for its rows only.
test.serial(
  'the newest deliveries of the list are one statement, with one index lookup for each',
  async (t) => {
    const { orm } = api.punctual;
    const client = await api.newClient();
    for (let n = 0; n < 10; n += 1) {
      await client.post('/webhooks', hook(`n${n}`));
    }

    await storeMany(orm, client.workspaceId, 500);
    const { em, queries } = watched(orm.em.fork());
    const endpoints = await loadEndpoints(em, client.workspaceId, new Date());

    t.is(endpoints.length, 10);
    t.true(endpoints.every(({ last_delivery: last }) => last?.response_status === 204));
    t.is(queries.length, 1);
    const plan = await planOf(orm, queries[0]);
    t.true(plan.includes('Index Scan Backward using deliveries_newest'), plan);
    t.true(plan.includes('delivery_attempts_delivery_id_number_unique'), plan);
  },
);

test('all endpoints are listed, oldest first, each with its newest delivery and without its secret', async (t) => {
  const client = await api.newClient();
  t.deepEqual((await client.get('/webhooks')).body, { webhooks: [] });
  const first = (await client.post('/webhooks', hook('first'))).body.webhook;
  await storeDelivery(
    api.punctual,
    client.workspaceId,
    'delivered',
    new Date('2026-05-01T10:00:00Z'),
  );
  await storeDelivery(api.punctual, client.workspaceId, 'failed', new Date('2026-05-02T10:00:00Z'));
  await storeDelivery(
    api.punctual,
    client.workspaceId,
    'delivered',
    new Date('2026-04-01T10:00:00Z'),
  );
  const second = (await client.post('/webhooks', hook('second', ['webhook.test']))).body.webhook;
  const third = (await client.post('/webhooks', hook('third'))).body.webhook;
  const newest = new Date('2026-05-03T10:00:00Z');
  await storeDelivery(api.punctual, client.workspaceId, 'pending', newest);

  const reply = await client.get('/webhooks');

  t.is(reply.status, 200);
  const shown = ({ secret: _, ...webhook }: { secret: string }, last: object | null): object => ({
    ...webhook,
    last_delivery: last,
  });
  const pending = {
    status: 'pending',
    response_status: null,
    error: null,
    created_at: newest.toISOString(),
  };
  t.deepEqual(reply.body, {
    webhooks: [shown(first, pending), shown(second, null), shown(third, pending)],
  });
  for (const webhook of reply.body.webhooks) {
    t.deepEqual((await client.get(`/webhooks/${webhook.id}`)).body.webhook, webhook);
  }
});

test('a delivery with several attempts shows the response of the last one', async (t) => {
  const client = await api.newClient();
  await client.post('/webhooks', hook('one'));
  const at = new Date('2026-05-02T10:00:00Z');
  const id = await storeDelivery(api.punctual, client.workspaceId, 'failed', at);
  await api.punctual.orm.em
    .fork()
    .execute(
      `update delivery_attempts set response_status = null, error = 'timeout' where delivery_id = ? and number = 6`,
      [id],
    );

  t.deepEqual((await client.get('/webhooks')).body.webhooks[0].last_delivery, {
    status: 'failed',
    response_status: null,
    error: 'timeout',
    created_at: at.toISOString(),
  });
});

test('only the fields that are sent change', async (t) => {
  const { client, webhook, path } = await editable();
  const changes = [
    { url: 'https://8.8.4.4/other?x=1' },
    { events: ['webhook.test', 'post.published'] },
    { description: 'Theirs — “now”' },
    { description: '' },
    { url: 'https://1.1.1.1/', events: ['post.partial'], description: 'All at once' },
    {},
  ];
  for (const change of changes) {
    const reply = await client.patch(path, change);
    Object.assign(webhook, change);
    t.is(reply.status, 200);
    t.deepEqual(reply.body, { webhook, warning: null });
    t.deepEqual((await client.get(path)).body.webhook, webhook);
  }
});

test('null clears the description, and events named twice count once', async (t) => {
  const { client, webhook, path } = await editable();
  const reply = await client.patch(path, {
    description: null,
    events: ['post.failed', 'post.partial', 'post.failed'],
  });
  const events = ['post.failed', 'post.partial'];
  t.deepEqual(reply.body.webhook, { ...webhook, description: '', events });
});

test('an edit refuses what a registration refuses, and changes nothing', async (t) => {
  const { client, webhook, path } = await editable();
  const refused: [object, string, string[]][] = [
    [{ url: 'http://example.com/hook' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://127.0.0.1/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://[::ffff:10.0.0.1]/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://user:secret@example.com/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://8.8.8.8/\0' }, 'invalid_webhook_url', ['/url']],
    [{ url: '' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://1.1.1.1/', events: [] }, 'invalid_events', ['/events']],
    [{ events: ['post.sent'] }, 'invalid_events', ['/events/0']],
    [{ url: null }, 'invalid_request', ['/url']],
    [{ events: null }, 'invalid_request', ['/events']],
    [{ events: 'post.failed' }, 'invalid_request', ['/events']],
    [{ description: 1 }, 'invalid_request', ['/description']],
    [{ description: 'x'.repeat(501) }, 'invalid_request', ['/description']],
    [{ description: 'a\0' }, 'invalid_request', ['/description']],
    [{ description: 'a\ud800' }, 'invalid_request', ['/description']],
    [{ description: 'New', secret: 'mine' }, 'invalid_request', ['/secret']],
    [{ description: 'New', id: webhook.id }, 'invalid_request', ['/id']],
    [[], 'invalid_request', ['']],
  ];
  for (const [body, code, paths] of refused) {
    const reply = await client.patch(path, body);
    t.is(reply.status, 400, JSON.stringify(body));
    t.is(reply.body.code, code, JSON.stringify(body));
    const named = reply.body.details.map((detail: { path: string }) => detail.path);
    t.deepEqual(named, paths, JSON.stringify(body));
  }

  t.deepEqual((await client.get(path)).body.webhook, webhook);
});

test('new event types apply to later events', async (t) => {
  const { client, path } = await editable();
  const { workspaceId } = client;
  await client.patch(path, { events: ['post.published'] });
  t.is(await storeEvent(api.punctual, workspaceId, 'post.failed'), undefined);
  t.truthy(await storeEvent(api.punctual, workspaceId, 'post.published'));
});
test('an attempt during a read is shown with its outcome, or not at all', async (t) => {
  const { client, webhook } = await editable();
  const { punctual } = api;
  const delivery = await storeDelivery(punctual, client.workspaceId, 'pending');
  const row = [delivery, 1, new Date(), 30, 204, null];
  // The worker records the attempt as soon as the reader has its first result.
  let isFirst = true;
  const interrupted = aroundQueries(punctual.orm.em.fork(), async (run) => {
    const rows = await run();
    if (isFirst) {
      isFirst = false;
      await storeAttempt(punctual, client.workspaceId, row);
      await punctual.orm.em
        .fork()
        .execute(`update deliveries set status = 'delivered' where id = ?`, [delivery]);
    }

    return rows;
  });

  const read = () => loadDelivery(interrupted, client.workspaceId, webhook.id, delivery);
  const [before, after] = [await read(), await read()];

  t.like(before, { status: 'pending', attempts: { length: 0 } });
  t.like(after, { status: 'delivered', attempts: { length: 1 } });
});

test('an endpoint shows its newest 100 deliveries and no other endpoint’s', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const first = (await client.post('/webhooks', hook('Ours'))).body.webhook.id;
  await storeEvent(punctual, client.workspaceId, 'post.failed', new Date('2026-01-01T00:00:00Z'));
  const second = (await client.post('/webhooks', hook('Ours'))).body.webhook.id;
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
