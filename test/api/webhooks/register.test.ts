import test from 'ava';
import type { Client, Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';
import { storedRows } from '../../support/stored-rows.ts';

// Webhooks may use this port, which has no listener.
const api = sharedApi(test, { allowPorts: [18_443] });
const url = 'http://127.0.0.1:18443/hook';
const failures = ['post.failed'];

const endpoints = async ({ workspaceId }: Client): Promise<number | undefined> =>
  (await storedRows(api.punctual.orm, workspaceId))['webhook_endpoints'];

const register = (client: Client, fields: object = {}): Promise<Reply> =>
  client.post('/webhooks', { url, events: ['post.published'], ...fields });

test('a new endpoint is shown completely, with its secret only this time', async (t) => {
  const client = await api.newClient();
  const events = ['post.published', 'post.partial', 'post.failed', 'channel.needs_reconnect'];
  const before = Date.now();
  const reply = await register(client, { events, description: 'Our log — “all”' });

  t.is(reply.status, 201);
  const { id, created_at: createdAt, secret, ...webhook } = reply.body.webhook;
  t.regex(secret, /^whsec_[0-9A-Za-z]{32}$/v);
  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v);
  t.true(Date.parse(createdAt) >= before && Date.parse(createdAt) <= Date.now());
  t.is(reply.headers.get('location'), `/api/v1/webhooks/${id}`);
  t.deepEqual(webhook, {
    url,
    events,
    description: 'Our log — “all”',
    secret_hint: `whsec_…${secret.slice(-4)}`,
    next_secret_hint: null,
    rotates_at: null,
    enabled: true,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    last_delivery: null,
  });

  const shown = await client.get(`/webhooks/${id}`);
  t.is(shown.status, 200);
  t.deepEqual(shown.body, {
    webhook: { ...webhook, id, created_at: createdAt },
    deliveries: [],
  });
});

test('a second endpoint with the same URL gets a warning, also in a replay and after an edit', async (t) => {
  const client = await api.newClient();
  const first = await register(client);
  t.is(first.body.warning, null);
  const warning = `The endpoint ${first.body.webhook.id} has the same URL: events that both subscribe to are sent there twice.`;
  for (const replayed of [null, 'true']) {
    const body = { url: 'HTTP://127.0.0.1:18443/hook', events: failures };
    const reply = await client.post('/webhooks', body, { 'idempotency-key': 'twice' });
    t.is(reply.headers.get('idempotency-replayed'), replayed);
    t.is(reply.body.warning, warning);
  }

  const third = (await register(client, { url: `${url}/3` })).body;
  t.is(third.warning, null);
  const edit = async (body: object): Promise<unknown> =>
    (await client.patch(`/webhooks/${third.webhook.id}`, body)).body.warning;
  t.is(await edit({ url }), warning);
  t.is(await edit({ description: 'Ours' }), null);
  t.is(await edit({ url: `${url}/3` }), null);
  t.is((await register(await api.newClient())).body.warning, null, 'of another workspace');
});

test('without a description it is empty, and events named twice count once', async (t) => {
  const client = await api.newClient();
  const reply = await register(client, { events: ['webhook.test', 'post.failed', 'webhook.test'] });
  t.is(reply.status, 201);
  t.like(reply.body.webhook, { description: '', events: ['webhook.test', 'post.failed'] });
});

test('a workspace has at most 10 endpoints, also with 20 concurrent registrations', async (t) => {
  const client = await api.newClient();
  const other = await api.newClient();
  const replies = await Promise.all(Array.from({ length: 20 }, () => register(client)));

  const [made, refused] = [201, 409].map((wanted) =>
    replies.filter(({ status }) => status === wanted),
  );
  t.is(made?.length, 10);
  t.is(refused?.length, 10);
  t.true(refused?.every(({ body }) => body.code === 'webhook_limit_reached'));
  t.is(new Set(made?.map(({ body }) => body.webhook.secret)).size, 10);
  t.is((await register(client)).status, 409);
  t.is((await register(other)).status, 201);
  t.deepEqual([await endpoints(client), await endpoints(other)], [10, 1]);
});

test('a deleted endpoint is gone with its deliveries, frees a slot, and does not affect other endpoints', async (t) => {
  const client = await api.newClient();
  const ids: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    const hook = { url: `https://8.8.8.8/${n}`, events: failures };
    ids.push((await client.post('/webhooks', hook)).body.webhook.id);
  }
  const [first, second] = ids;
  await storeDelivery(api.punctual, client.workspaceId, 'pending');
  await storeDelivery(api.punctual, client.workspaceId, 'failed');

  const reply = await client.delete(`/webhooks/${first}`);

  t.is(reply.status, 200);
  t.deepEqual(reply.body, { ok: true, id: first });
  t.is((await client.get(`/webhooks/${first}`)).status, 404);
  t.is((await client.delete(`/webhooks/${first}`)).status, 404);
  t.is((await client.get('/webhooks')).body.webhooks.length, 9);
  t.is((await client.get(`/webhooks/${second}`)).body.deliveries.length, 2);
  t.is(
    (await client.post('/webhooks', { url: 'https://8.8.8.8/new', events: failures })).status,
    201,
  );
});
