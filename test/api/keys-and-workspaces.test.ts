import test from 'ava';
import { createApiKey } from '../../cli/admin/workspaces.ts';
import type { Reply } from '../support/client.ts';
import { sharedApi } from '../support/kit.ts';
import { startApi } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { channelToken, storeChannel } from '../support/seed.ts';
import { storedRows } from '../support/stored-rows.ts';
import { everyRoute } from './every-route.ts';

const api = sharedApi(test);

const callMe = (authorization: string): Promise<Reply> =>
  rawCall(`${api.punctual.url}/api/v1/me`, { headers: { authorization } });

test('every call refuses a missing key, and says how to send one', async (t) => {
  const { url, orm } = await startApi(t); // Its own API: the test asserts that nothing is stored.
  const calls = everyRoute(crypto.randomUUID());
  t.true(calls.length >= 6);
  for (const { method, path } of calls) {
    const json = { method, headers: { 'content-type': 'application/json' } };
    const init = method === 'GET' ? { method } : { ...json, body: '{"body":"x"}' };
    const reply = await rawCall(url + path, init);
    t.is(reply.status, 401, path);
    t.is(reply.headers.get('www-authenticate'), 'Bearer', path);
    t.deepEqual(Object.keys(reply.body), ['error', 'code'], path);
    t.is(reply.body.code, 'unauthorized', path);
    t.truthy(reply.headers.get('x-request-id'), path);
  }

  t.deepEqual(new Set(Object.values(await storedRows(orm))), new Set([0]));
});

test('a malformed or wrong key is refused', async (t) => {
  const { key } = await api.newClient();
  const mangled = [
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${btoa(`${key}:`)}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key}x`,
    `Bearer ${key.toLowerCase()}`,
    `Bearer ${key.slice('svc_live_'.length)}`,
    `Bearer ${'x'.repeat(10_000)}`,
    'Bearer null',
  ];
  for (const authorization of mangled) {
    const reply = await callMe(authorization);
    t.is(reply.status, 401, authorization);
    t.is(reply.body.code, 'unauthorized', authorization);
    t.is(reply.headers.get('www-authenticate'), 'Bearer', authorization);
  }
});

test('a revoked key is refused like an unknown one, while the other keys of its workspace keep working', async (t) => {
  const client = await api.newClient();
  const em = api.punctual.orm.em.fork();
  const other = await createApiKey(em, client.workspaceId);
  t.is((await client.get('/me')).status, 200);

  await em.execute(
    'update api_keys set revoked_at = now() where workspace_id = ? and last_four = ?',
    [client.workspaceId, client.key.slice(-4)],
  );

  const revoked = await client.get('/me');
  const unknown = await callMe('Bearer svc_live_nobody');
  t.is(revoked.status, 401);
  t.deepEqual(revoked.body, unknown.body);
  t.is((await callMe(`Bearer ${other}`)).status, 200);
});

test('the scheme of the Authorization header may be written in any case', async (t) => {
  const { key } = await api.newClient();
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
    t.is((await callMe(`${scheme} ${key}`)).status, 200, scheme);
  }
});

test('the database stores only the hash and the last four characters of a key', async (t) => {
  const { key, workspaceId } = await api.newClient();
  const rows = await api.punctual.orm.em
    .fork()
    .execute('select * from api_keys where workspace_id = ?', [workspaceId]);
  t.false(JSON.stringify(rows).includes(key.slice('svc_live_'.length, -4)));
  t.like(rows[0], { last_four: key.slice(-4), revoked_at: null });
  t.regex(key, /^svc_live_[0-9A-Za-z]{32}$/v);
});

test('GET /channels lists the own channels, oldest first, with their state and no secret', async (t) => {
  const { punctual } = api;
  const [client, other] = [await api.newClient(), await api.newClient()];
  const { workspaceId } = client;
  const first = await storeChannel(punctual, workspaceId, { handle: '@first@social.test' });
  await storeChannel(punctual, other.workspaceId, { handle: '@other@social.test' });
  const second = await storeChannel(punctual, workspaceId, {
    platform: 'bluesky',
    handle: 'b.test',
  });
  const third = await storeChannel(punctual, workspaceId, { handle: '@third@social.test' });
  const em = punctual.orm.em.fork();
  await em.execute(`update channels set created_at = '2020-01-01' where id = ?`, [third]);
  await em.execute(
    `update channels set state = 'needs_reconnect', error = 'Revoked.' where id = ?`,
    [second],
  );

  const reply = await client.get('/channels');

  t.is(reply.status, 200);
  const ids = reply.body.channels.map(({ id }: { id: string }) => id);
  t.deepEqual(ids, [third, first, second]);
  const [{ created_at: at, ...oldest }, , lost] = reply.body.channels;
  t.is(at, '2020-01-01T00:00:00.000Z');
  t.deepEqual(oldest, {
    id: third,
    platform: 'mastodon',
    handle: '@third@social.test',
    display_name: null,
    profile_url: 'https://social.test/@third',
    server: 'social.test',
    sandbox: false,
    state: 'connected',
    error: null,
    expires_at: null,
    options: {},
  });
  t.like(lost, { platform: 'bluesky', state: 'needs_reconnect', error: 'Revoked.' });
  t.deepEqual(Object.keys(lost), [
    'id',
    'platform',
    'handle',
    'display_name',
    'profile_url',
    'server',
    'sandbox',
    'state',
    'error',
    'expires_at',
    'options',
    'created_at',
  ]);
  t.false(JSON.stringify(reply.body).includes(channelToken));
});
