import test from 'ava';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { scopes } from '../../../domain/api-keys.ts';
import { clientFor, type Client } from '../../support/client.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { sharedApi } from '../../support/kit.ts';
import { poll } from '../../support/poll.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

/** Creates a key by the API. @returns its id, and a client with it. */
async function keyBy(client: Client, request: object): Promise<{ id: string; client: Client }> {
  const { body } = await client.post('/keys', { name: 'Test', ...request });
  const made = clientFor(api.punctual.url, client.workspaceId, body.key.key);
  return { id: body.key.id, client: made };
}

test('a key is shown once, works at once, and is listed with its rights', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const expires = inDays(1);
  const request = {
    name: ' Newsroom ',
    scopes: ['posts:read', 'media', 'media'],
    channel_ids: [channel],
    expires_at: expires,
  };

  const { status, body } = await client.post('/keys', request);

  t.is(status, 201);
  const { key: secret, ...shown } = body.key;
  t.like(shown, {
    name: 'Newsroom',
    scopes: ['posts:read', 'media'],
    channel_ids: [channel],
    expires_at: expires,
    last_used_at: null,
    last_four: secret.slice(-4),
  });
  const { keys } = (await client.get('/keys')).body;
  t.deepEqual(keys[1], shown);
  t.like(keys[0], { name: null, scopes, channel_ids: null, expires_at: null });
  t.false(JSON.stringify(keys).includes(secret));

  const made = clientFor(api.punctual.url, client.workspaceId, secret);
  const me = (await made.get('/me')).body;
  t.like(me.key, { id: shown.id, name: 'Newsroom', scopes: shown.scopes, channel_ids: [channel] });
  t.is((await made.get('/posts')).status, 200);
  const used = await poll(
    async () => (await client.get('/keys')).body.keys[1].last_used_at,
    (at) => at !== null,
  );
  t.is(typeof used, 'string');
});

test('a wrong name, scope, channel or time is refused, and no key is made', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const right = { name: 'x', scopes: ['media'] };
  const wrong: [object, string, string][] = [
    [{ ...right, name: '' }, 'invalid_request', '/name'],
    [{ ...right, name: ' ' }, 'invalid_request', '/name'],
    [{ ...right, name: 'a\u0000' }, 'invalid_request', '/name'],
    [{ ...right, name: 'x'.repeat(201) }, 'invalid_request', '/name'],
    [{ scopes: ['media'] }, 'invalid_request', '/name'],
    [{ name: 'x' }, 'invalid_request', '/scopes'],
    [{ ...right, scopes: [] }, 'invalid_request', '/scopes'],
    [{ ...right, scopes: ['posts'] }, 'invalid_request', '/scopes/0'],
    [{ ...right, channel_ids: [] }, 'invalid_request', '/channel_ids'],
    [{ ...right, channel_ids: ['x'] }, 'invalid_channel_ids', '/channel_ids/0'],
    [{ ...right, channel_ids: [crypto.randomUUID()] }, 'invalid_channel_ids', '/channel_ids/0'],
    [{ ...right, scopes: ['webhooks'], channel_ids: [channel] }, 'invalid_request', '/scopes'],
    [{ ...right, expires_at: 'tomorrow' }, 'invalid_request', '/expires_at'],
    [{ ...right, expires_at: inDays(-1) }, 'invalid_request', '/expires_at'],
  ];
  for (const [body, code, path] of wrong) {
    const reply = await client.post('/keys', body);
    t.is(reply.status, 400, JSON.stringify(body));
    t.is(reply.body.code, code, JSON.stringify(reply.body));
    t.is(reply.body.details[0].path, path, JSON.stringify(reply.body));
  }

  t.is((await client.get('/keys')).body.keys.length, 1);
});

test('a key gives, changes and revokes no more than its own rights', async (t) => {
  const all = await api.newClient();
  const { workspaceId } = all;
  const [mine, other] = [
    await storeChannel(api.punctual, workspaceId),
    await storeChannel(api.punctual, workspaceId),
  ];
  const own = {
    scopes: ['keys', 'media', 'posts:read'],
    channel_ids: [mine],
    expires_at: inDays(2),
  };
  const { id, client } = await keyBy(all, own);
  const { id: strong } = await keyBy(all, { scopes: ['media'] });
  const less = { name: 'x', scopes: ['media'], channel_ids: [mine], expires_at: inDays(1) };

  const more: [object, string][] = [
    [{ scopes: ['media', 'posts:write'] }, '/scopes'],
    [{ channel_ids: null }, '/channel_ids'],
    [{ channel_ids: [mine, other] }, '/channel_ids'],
    [{ expires_at: null }, '/expires_at'],
    [{ expires_at: inDays(3) }, '/expires_at'],
  ];
  for (const [change, path] of more) {
    for (const reply of [
      await client.post('/keys', { ...less, ...change }),
      await client.patch(`/keys/${id}`, change),
    ]) {
      t.is(reply.status, 403, JSON.stringify(change));
      t.is(reply.body.code, 'rights_exceeded');
      t.deepEqual(
        reply.body.details.map((detail: { path: string }) => detail.path),
        [path],
      );
    }
  }

  t.is((await client.patch(`/keys/${strong}`, { name: 'Mine' })).body.code, 'rights_exceeded');
  t.is((await client.delete(`/keys/${strong}`)).body.code, 'rights_exceeded');

  const weaker = await client.post('/keys', less);
  t.is(weaker.status, 201);
  const at = `/keys/${weaker.body.key.id}`;
  t.is((await client.patch(at, { name: 'y', scopes: ['posts:read'] })).status, 200);
  t.is((await client.delete(at)).status, 200);
  t.is((await client.patch(at, { name: 'z' })).status, 404);
  t.is((await client.delete(at)).status, 404);

  t.is((await client.patch(`/keys/${id}`, { scopes: ['keys'] })).status, 200);
  t.is((await client.get('/media')).body.code, 'scope_missing');
  t.deepEqual((await client.delete(`/keys/${id}`)).body, { ok: true, id });
  t.is((await client.get('/me')).status, 401);
});

test('a key that is revoked while it creates another leaves none behind', async (t) => {
  const all = await api.newClient();
  const { id, client } = await keyBy(all, { scopes: ['keys'] });
  const revoking = `update api_keys set revoked_at = now(), last_used_at = now() where id = '${id}'`;
  const { waiting, release } = await holdLock(t, api.punctual.orm, revoking);
  const call = client.post('/keys', { name: 'Left behind', scopes: ['keys'] });
  await poll(waiting, (sessions) => sessions > 0);
  release();

  const { status, body } = await call;

  t.deepEqual([status, body.code], [403, 'rights_exceeded']);
  t.is((await client.get('/me')).status, 401);
  t.is((await all.get('/keys')).body.keys.length, 1);
});

test('a key makes at most 100 others in a day, also if they are revoked, and all keys of a workspace 1,000', async (t) => {
  const client = await api.newClient();
  const other = await keyBy(client, { scopes: ['keys', 'media'] });
  const [{ actor_id: keyId = '' } = {}] = await api.punctual.orm.em
    .fork()
    .execute<{ actor_id: string }[]>('select actor_id from audit_log where workspace_id = ?', [
      client.workspaceId,
    ]);
  const store = (count: number, actorId: string): Promise<unknown> =>
    api.punctual.orm.em.fork().execute(
      `insert into audit_log (id, workspace_id, at, actor, actor_id, action, object_id)
       select gen_random_uuid(), ?, now(), 'key', ?, 'key.created', gen_random_uuid() from generate_series(1, ?)`,
      [client.workspaceId, actorId, count],
    );
  await store(98, keyId);
  const make = (by: typeof client) => by.post('/keys', { name: 'One more', scopes: ['media'] });
  t.is((await make(client)).status, 201);
  const { status, body } = await make(client);
  t.deepEqual([status, body.code], [409, 'key_limit_reached']);
  t.regex(body.error, /100 others in 24 hours/v);
  t.is((await make(other.client)).status, 201);
  await store(900, crypto.randomUUID());
  t.regex((await make(other.client)).body.error, /1000 API keys in 24 hours/v);
});

test('a key that was stored with a scope of an earlier version keeps working', async (t) => {
  const client = await api.newClient();
  const key = await createApiKey(api.punctual.orm.em.fork(), client.workspaceId, {
    scopes: ['posts:approve' as 'media', 'keys', 'posts:write'],
  });
  const old = clientFor(api.punctual.url, client.workspaceId, key);
  t.deepEqual((await old.get('/me')).body.key.scopes, ['keys', 'posts:write']);
  t.is((await old.post('/posts', { body: 'x' })).status, 201);
  t.is((await old.post('/keys', { name: 'New', scopes: ['posts:write'] })).status, 201);
});

test('a key that has expired is refused, and can be extended by another', async (t) => {
  const all = await api.newClient();
  const { id, client } = await keyBy(all, { scopes: ['media'], expires_at: inDays(1) });
  t.is((await client.get('/media')).status, 200);
  const past = `update api_keys set expires_at = now() where id = ?`;
  await api.punctual.orm.em.fork().execute(past, [id]);
  t.is((await client.get('/media')).status, 401);
  t.is((await all.patch(`/keys/${id}`, { expires_at: inDays(1) })).status, 200);
  t.is((await client.get('/media')).status, 200);
});

test('GET /me has the plan and the limits, and plan_required says what to do', async (t) => {
  const client = await api.newClient();
  const { plan, limits } = (await client.get('/me')).body;
  t.is(plan, 'standard');
  t.like(limits, { requests: 1_000_000, writes: 1_000_000, scheduled: 10_000, webhooks: 10 });
  const em = api.punctual.orm.em.fork();
  await em.execute('update workspaces set plan = null where id = ?', [client.workspaceId]);
  t.is((await client.get('/me')).body.plan, null);
  t.regex((await client.post('/posts', { body: 'x' })).body.error, /Ask the operator/v);
});

test('GET /usage counts what the workspace has and what the key has called', async (t) => {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channel = await storeChannel(api.punctual, workspaceId);
  await client.post('/posts', { body: 'four' });
  await client.post('/posts', { body: 'six by', channel_ids: [channel], schedule_in_minutes: 60 });
  await storeMedia(api.punctual, workspaceId);
  await client.post('/webhooks', { url: 'https://8.8.8.8/', events: ['post.failed'] });
  await (await keyBy(client, { scopes: ['keys'] })).client.get('/me'); // Another key's call.

  const { usage } = (await client.get('/usage')).body;

  const used = Object.fromEntries(
    Object.entries(usage).map(([name, value]) => [name, (value as { used: number }).used]),
  );
  const { media_bytes: bytes, ...rest } = used;
  t.true((bytes ?? 0) > 0);
  t.deepEqual(rest, {
    requests: 5,
    writes: 4,
    scheduled: 1,
    drafts: 1,
    text_bytes: 10,
    files: 1,
    channels: 1,
    webhooks: 1,
  });
  t.is(usage.webhooks.limit, 10);
});

test('a list shows a key no text of a post that leaves its channels meanwhile', async (t) => {
  const all = await api.newClient();
  const [mine, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const { client: one } = await keyBy(all, { scopes: ['posts:read'], channel_ids: [mine] });
  const { id } = (await all.post('/posts', { body: 'x', channel_ids: [mine] })).body.post;
  const moving = new AbortController();
  const list = async (seen: string[] = []): Promise<string[]> => {
    while (!moving.signal.aborted) {
      seen.push(JSON.stringify((await one.get('/posts?include=channels')).body.posts));
    }
    return seen;
  };
  const lists = Promise.all([list(), list(), list()]);
  const secret = { channel_ids: [other], channel_bodies: { [other]: 'Secret' } };
  for (let moves = 0; moves < 20; moves += 1) {
    await all.patch(`/posts/${id}`, secret);
    await all.patch(`/posts/${id}`, { channel_ids: [mine] });
  }
  moving.abort();
  const shown = (await lists).flat().filter((posts) => posts.includes('Secret'));
  t.deepEqual(shown, []);
});
