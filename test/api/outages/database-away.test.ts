import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createApiKey, createWorkspace } from '../../../cli/create-workspace.ts';
import { createOrm } from '../../../db/orm.ts';
import { clientFor, type Client, type Reply } from '../../support/client.ts';
import { emptyDatabase, freshDatabase } from '../../support/database.ts';
import { poll } from '../../support/poll.ts';
import { targetOf, tcpGate, throughGate, type TcpGate } from '../../support/tcp-gate.ts';
import { freshNamespace } from '../../support/temporal.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { startApiProcess, type ApiProcess } from '../../support/api-process.ts';
import { holdLock } from '../../support/hold-lock.ts';

const settings = async (databaseUrl: string, gate: TcpGate): Promise<Record<string, string>> => ({
  ...(await freshNamespace()),
  DATABASE_URL: throughGate(databaseUrl, gate),
  SECRET_KEY: randomBytes(32).toString('hex'),
});

/** An API process behind a gate; the test itself reaches the database past it. */
async function world(t: ExecutionContext, more: Record<string, string> = {}) {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const api = await startApiProcess(t, { ...(await settings(databaseUrl, gate)), ...more });
  await poll(
    () => Promise.resolve(api.log()),
    (log) => log.includes('the database is ready'),
  );
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, 'Test');
  const client = clientFor(api.url, workspaceId, await createApiKey(em, workspaceId));
  return { orm, gate, api, client };
}

const hook = { url: 'https://8.8.8.8/hook', events: ['post.published'] };

async function everyCall(client: Client, ids: { post: string; hook: string }): Promise<Reply[]> {
  return Promise.all([
    client.get('/me'),
    client.get('/channels'),
    client.get(`/posts/${ids.post}`),
    client.get(`/webhooks/${ids.hook}`),
    client.post('/posts', { body: 'secret words' }),
    client.post('/posts', { body: 'secret words' }, { 'idempotency-key': crypto.randomUUID() }),
    client.post('/webhooks', hook),
  ]);
}

function mustBeAway(t: ExecutionContext, reply: Reply): void {
  t.is(reply.status, 503);
  t.is(reply.body.code, 'unavailable');
  t.deepEqual(Object.keys(reply.body), ['error', 'code']);
  t.regex(reply.headers.get('retry-after') ?? '', /^[1-9]\d?$/v);
  t.truthy(reply.headers.get('x-request-id'));
}

async function mustSayWhichPart(t: ExecutionContext, { url }: ApiProcess): Promise<void> {
  t.is((await rawCall(`${url}/healthz`)).status, 200);
  // Temporal has 2 s for its answer, and this machine may be busy.
  const ready = await poll(
    () => rawCall(`${url}/readyz`),
    ({ body }) => body.temporal === 'ok',
  );
  t.is(ready.status, 503);
  t.like(ready.body, { ready: false, postgresql: 'does not answer' });
}

test('without its database every call is 503, and the same process serves again as soon as it is back', async (t) => {
  const { orm, gate, api, client } = await world(t);
  const ids = {
    post: (await client.post('/posts', { body: 'first' })).body.post.id,
    hook: (await client.post('/webhooks', hook)).body.webhook.id,
  };
  const before = await storedRows(orm);
  for (const outage of ['first', 'second']) {
    await gate.close();
    for (const reply of await everyCall(client, ids)) {
      mustBeAway(t, reply);
    }

    await mustSayWhichPart(t, api);
    t.is((await rawCall(`${api.url}/api/v1/me`)).status, 401);
    t.is((await rawCall(`${api.url}/api/v1/nothing`)).status, 404);

    await gate.open();
    const replies = await Promise.all([client.get('/me'), client.get(`/posts/${ids.post}`)]);
    t.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
      outage,
    );
  }

  t.deepEqual(await storedRows(orm), before);
  t.true((await everyCall(client, ids)).every(({ status }) => status === 200 || status === 201));
  t.is(api.child.exitCode, null);
  t.false(api.log().includes('secret words'));
});

test('a process that starts before its database serves when that is there, with its schema', async (t) => {
  const databaseUrl = await emptyDatabase(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  await gate.close();
  const api = await startApiProcess(t, await settings(databaseUrl, gate));
  const headers = { authorization: 'Bearer svc_live_nobody' };
  const ask = (): Promise<Reply> => rawCall(`${api.url}/api/v1/me`, { headers });
  t.is((await rawCall(`${api.url}/healthz`)).status, 200);
  mustBeAway(t, await ask());

  await gate.open();

  const reply = await poll(ask, ({ status }) => status === 401);
  t.is(reply.body.code, 'unauthorized');
});

test('until the schema is there every call is 503, and readyz does not call the database ready', async (t) => {
  const databaseUrl = await emptyDatabase(t);
  const orm = createOrm(databaseUrl, { poolSize: 2 });
  t.teardown(() => orm.close());
  // The lock under which processes migrate; see db/migrate.ts.
  const lock = await holdLock(t, orm, 'select pg_advisory_xact_lock(7203118446)');
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const api = await startApiProcess(t, await settings(databaseUrl, gate));
  await poll(lock.waiting, (count) => count === 1);

  const headers = { authorization: 'Bearer svc_live_nobody' };
  const ask = (): Promise<Reply> => rawCall(`${api.url}/api/v1/me`, { headers });
  mustBeAway(t, await ask());
  await mustSayWhichPart(t, api);

  lock.release();
  await poll(ask, ({ status }) => status === 401);
  await poll(
    () => rawCall(`${api.url}/readyz`),
    ({ body }) => body.postgresql === 'ok',
  );
});

test('posts that are being stored when the database goes are 503 and not stored, and their keys work later', async (t) => {
  const { orm, gate, client } = await world(t, { PUNCTUAL_DATABASE_POOL: '3' });
  const posts = ['a', 'b', 'c'].map((key) => ({ body: 'x', idempotency_key: key }));
  const keys = await holdLock(t, orm, 'lock table idempotency_keys in exclusive mode');
  const sending = posts.map((post) => client.post('/posts', post));
  await poll(keys.waiting, (count) => count === 3);

  await gate.close();
  for (const reply of await Promise.all(sending)) {
    mustBeAway(t, reply);
  }

  keys.release();
  await poll(keys.waiting, (count) => count === 0);
  await gate.open();

  t.like(await storedRows(orm), { posts: 0, idempotency_keys: 0 });
  for (const post of posts) {
    t.is((await client.post('/posts', post)).status, 201);
    t.is((await client.post('/posts', post)).status, 200);
  }

  t.like(await storedRows(orm), { posts: 3, idempotency_keys: 3 });
});
