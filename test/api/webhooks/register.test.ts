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

test('the database stores the signing secret only sealed', async (t) => {
  const client = await api.newClient();
  const { id, secret } = (await register(client)).body.webhook;
  const [row] = await api.punctual.orm.em
    .fork()
    .execute<{ sealed_secret: string }[]>('select * from webhook_endpoints where id = ?', [id]);

  t.false(JSON.stringify(row).includes(secret.slice('whsec_'.length, -4)));
  const sealed = row?.sealed_secret ?? '';
  const { sealer } = api.punctual.deps;
  t.is(sealer.open(sealed, `webhook/${id}/secret`), secret);
  t.throws(() => sealer.open(sealed, `webhook/${crypto.randomUUID()}/secret`));
});

test('without a description it is empty, and events named twice count once', async (t) => {
  const client = await api.newClient();
  const reply = await register(client, { events: ['webhook.test', 'post.failed', 'webhook.test'] });
  t.is(reply.status, 201);
  t.like(reply.body.webhook, { description: '', events: ['webhook.test', 'post.failed'] });
});

const refusedUrls = [
  'http://example.com/hook',
  'ftp://example.com/hook',
  'https://127.0.0.1/hook',
  'https://127.0.0.1:18444/hook',
  'http://127.0.0.1:18444/hook',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://10.0.0.1/',
  'https://192.168.1.1/',
  'https://172.16.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://100.64.0.1/',
  'https://0.0.0.0/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://localhost/',
  'https://localhost./',
  'https://metadata/',
  'https://metadata.google.internal/',
  'https://user:secret@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com:22/',
  'https://exa mple.com/',
  'https://example.com\\@127.0.0.1/',
  'https://example.com/\0',
  'https://example.com/\ud800',
  'https://',
  'https:example.com',
  '//example.com/hook',
  'example.com/hook',
  'javascript:alert(1)',
  'not a url',
  '',
  `https://example.com/${'x'.repeat(2048)}`,
];

test('a URL that is not public and https is refused with the reason, and nothing is stored', async (t) => {
  const client = await api.newClient();
  for (const refused of refusedUrls) {
    const reply = await register(client, { url: refused });
    t.is(reply.status, 400, refused);
    t.is(reply.body.code, 'invalid_webhook_url', refused);
    t.deepEqual(
      reply.body.details.map(({ path }: { path: string }) => path),
      ['/url'],
    );
    t.truthy(reply.body.error);
  }

  t.is(await endpoints(client), 0);
});

test('a public address is accepted without a request to it', async (t) => {
  const client = await api.newClient();
  for (const accepted of ['https://8.8.8.8/hook?x=1', 'https://[2606:4700:4700::1111]/h']) {
    const reply = await register(client, { url: accepted });
    t.is(reply.status, 201, accepted);
    t.is(reply.body.webhook.url, accepted);
  }
});

test('an unknown event is refused and named', async (t) => {
  const client = await api.newClient();
  const lists = [[], ['post.publish'], ['post.published', 'Post.Failed'], [''], ['__proto__']];
  for (const events of lists) {
    const reply = await register(client, { events });
    t.is(reply.status, 400, events.join());
    t.is(reply.body.code, 'invalid_events', events.join());
    t.is(
      reply.body.details[0].path,
      events.length > 0 ? `/events/${events.length - 1}` : '/events',
    );
    t.true(reply.body.error.includes(events.at(-1) ?? 'empty'), reply.body.error);
  }

  t.is(await endpoints(client), 0);
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
