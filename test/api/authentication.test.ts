import test from 'ava';
import { createApiKey } from '../../cli/create-workspace.ts';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { everyRoute } from './every-route.ts';
import { rawCall } from '../support/raw-call.ts';
import { storedRows } from '../support/stored-rows.ts';

test('every call refuses a missing key, and says how to send one', async (t) => {
  const { url, orm } = await startApi(t);
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

test('a key that is malformed or wrong opens nothing', async (t) => {
  const punctual = await startApi(t);
  const { key } = await newClient(punctual);
  const mangled = [
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${btoa(`${key}:`)}`,
    `Token ${key}`,
    `Bearer=${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key},`,
    `Bearer "${key}"`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key}x`,
    `Bearer ${key.toLowerCase()}`,
    `Bearer ${key.slice('svc_live_'.length)}`,
    `Bearer ' or '1'='1`,
    `Bearer '/**/or/**/1=1--`,
    `Bearer ${'x'.repeat(10_000)}`,
    'Bearer null',
    'Bearer ?',
  ];
  for (const authorization of mangled) {
    const reply = await rawCall(`${punctual.url}/api/v1/me`, { headers: { authorization } });
    t.is(reply.status, 401, authorization);
    t.is(reply.body.code, 'unauthorized', authorization);
    t.is(reply.headers.get('www-authenticate'), 'Bearer', authorization);
  }
});

test('a revoked key is refused with the words for an unknown one, while the other keys of its workspace work on', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const em = punctual.orm.em.fork();
  const other = await createApiKey(em, client.workspaceId);
  t.is((await client.get('/me')).status, 200);

  await em.execute('update api_keys set revoked_at = now() where last_four = ?', [
    client.key.slice(-4),
  ]);

  const me = `${punctual.url}/api/v1/me`;
  const revoked = await client.get('/me');
  const unknown = await rawCall(me, { headers: { authorization: `Bearer svc_live_nobody` } });
  t.is(revoked.status, 401);
  t.deepEqual(revoked.body, unknown.body);
  t.is((await rawCall(me, { headers: { authorization: `Bearer ${other}` } })).status, 200);
});

test('the scheme of the Authorization header may be written in any case', async (t) => {
  const punctual = await startApi(t);
  const { key } = await newClient(punctual);
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
    const headers = { authorization: `${scheme} ${key}` };
    t.is((await rawCall(`${punctual.url}/api/v1/me`, { headers })).status, 200, scheme);
  }
});

test('without a key nobody learns whether a post exists', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { body } = await client.post('/posts', { body: 'mine' });
  const look = (id: string): Promise<object> =>
    rawCall(`${punctual.url}/api/v1/posts/${id}`).then((reply) => [reply.status, reply.body]);

  t.deepEqual(await look(body.post.id), await look(crypto.randomUUID()));
  t.deepEqual(await look(body.post.id), await look('no-id'));
});

test('the database knows no API key, only its hash and last four characters', async (t) => {
  const punctual = await startApi(t);
  const { key, workspaceId } = await newClient(punctual);
  const rows = await punctual.orm.em
    .fork()
    .execute('select * from api_keys where workspace_id = ?', [workspaceId]);
  t.false(JSON.stringify(rows).includes(key.slice('svc_live_'.length, -4)));
  t.like(rows[0], { last_four: key.slice(-4), revoked_at: null });
  t.regex(key, /^svc_live_[0-9A-Za-z]{32}$/v);
});
