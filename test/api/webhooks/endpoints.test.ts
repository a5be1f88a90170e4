import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeDelivery, storeEvent } from '../../support/seed-deliveries.ts';

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

test('new event types apply to later events', async (t) => {
  const { client, path } = await editable();
  const { workspaceId } = client;
  await client.patch(path, { events: ['post.published'] });
  t.is(await storeEvent(api.punctual, workspaceId, 'post.failed'), undefined);
  t.truthy(await storeEvent(api.punctual, workspaceId, 'post.published'));
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
