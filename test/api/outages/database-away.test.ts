import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createOrm } from '../../../db/orm.ts';
import { newClient, type Reply } from '../../support/client.ts';
import { emptyDatabase, freshDatabase } from '../../support/database.ts';
import { beforeTests } from '../../support/kit.ts';
import { poll } from '../../support/poll.ts';
import type { Punctual } from '../../support/punctual.ts';
import { targetOf, tcpGate, throughGate, type TcpGate } from '../../support/tcp-gate.ts';
import { freshNamespace } from '../../support/temporal.ts';
import { everyRoute } from '../every-route.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { startApiProcess, type ApiProcess } from '../../support/api-process.ts';
import { holdLock } from '../../support/hold-lock.ts';

const settings = async (databaseUrl: string, gate: TcpGate): Promise<Record<string, string>> => ({
  ...(await freshNamespace()),
  DATABASE_URL: throughGate(databaseUrl, gate),
  SECRET_KEY: randomBytes(32).toString('hex'),
});

/** An API process behind a gate; the tests themselves bypass it. */
async function apiBehindGate(t: ExecutionContext, more: Record<string, string> = {}) {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const env = { ...(await settings(databaseUrl, gate)), ...more };
  const api = await startApiProcess(t, env);
  await poll(api.log, (log) => log.includes('the database is ready'));
  const client = await newClient({ url: api.url, orm } as Punctual);
  return { orm, gate, api, client, env };
}

// Shared by several tests in series, which leave the gate open and the process unchanged.
const shared = beforeTests(test, apiBehindGate);

function mustBeAway(t: ExecutionContext, reply: Reply): void {
  t.is(reply.status, 503);
  t.is(reply.body.code, 'unavailable');
  t.deepEqual(Object.keys(reply.body), ['error', 'code']);
  t.regex(reply.headers.get('retry-after') ?? '', /^[1-9]\d?$/v);
  t.truthy(reply.headers.get('x-request-id'));
}

async function mustSayWhichPart(t: ExecutionContext, { url }: ApiProcess): Promise<void> {
  t.is((await rawCall(`${url}/livez`)).status, 200);
  // Temporal has 2 s to answer, and this machine may be busy.
  const status = await poll(
    () => rawCall(`${url}/status`),
    ({ body }) => body.temporal === 'ok',
  );
  t.is(status.status, 503);
  t.like(status.body, { ok: false, postgresql: 'does not answer', backlog: null });
  const ready = await rawCall(`${url}/readyz`);
  t.is(ready.status, 503);
  t.deepEqual(ready.body, { ready: false, postgresql: 'does not answer' });
}

test('without the schema every call is 503, and readyz reports that the database is not ready', async (t) => {
  const databaseUrl = await emptyDatabase(t);
  const orm = createOrm(databaseUrl, { poolSize: 2 });
  t.teardown(() => orm.close());
  // The lock of migrations; see db/migrate.ts.
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

test('posts that are being stored when the database fails are 503 and not stored, and their keys work later', async (t) => {
  const { orm, gate, client } = await apiBehindGate(t, { PUNCTUAL_DATABASE_POOL: '3' });
  const posts = ['a', 'b'].map((key) => ({ body: 'x', idempotency_key: key }));
  const keys = await holdLock(t, orm, 'lock table idempotency_keys in exclusive mode');
  const sending = posts.map((post) => client.post('/posts', post));
  await poll(keys.waiting, (count) => count === 2);

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

  t.like(await storedRows(orm), { posts: 2, idempotency_keys: 2 });
});

/** Calls of the shared API, with any method. */
function calling() {
  const { orm, gate, api, client, env } = shared();
  const call = (method: string, path: string, body: object = {}): Promise<Reply> => {
    const authorization = `Bearer ${client.key}`;
    const json = { authorization, 'content-type': 'application/json' };
    return method === 'GET' || method === 'DELETE'
      ? rawCall(api.url + path, { method, headers: { authorization } })
      : rawCall(api.url + path, { method, headers: json, body: JSON.stringify(body) });
  };
  return { orm, gate, api, call, env };
}

test.serial(
  'every call answers 503 without the database, and works again afterwards, in the same process',
  async (t) => {
    const { orm, gate, api, call } = calling();
    const calls = everyRoute(crypto.randomUUID());
    t.true(calls.length >= 20);
    const answers = async (): Promise<Map<string, string>> => {
      const seen = new Map<string, string>();
      for (const { method, path } of calls) {
        const { status, body } = await call(method, path);
        seen.set(`${method} ${path}`, `${status} ${body.code ?? ''}`);
      }

      return seen;
    };
    const asEver = await answers();
    t.deepEqual(
      [...asEver].filter(([, answer]) => answer.startsWith('5')),
      [],
    );
    const before = await storedRows(orm);
    await gate.close();

    for (const { method, path } of calls) {
      const { status, body, headers } = await call(method, path);
      const what = `${method} ${path}: ${JSON.stringify(body)}`;
      t.is(status, 503, what);
      t.deepEqual(Object.keys(body), ['error', 'code'], what);
      t.is(body.code, 'unavailable', what);
      t.regex(headers.get('retry-after') ?? '', /^[1-9]\d?$/v, what);
    }

    const logged = api
      .log()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    const failed = logged.filter(({ msg, status }) => msg === 'request' && status === 503);
    t.true(failed.length >= calls.length);
    t.true(failed.every(({ level, ms }) => level === 30 && ms >= 0));
    const causes = logged.filter(({ msg }) => msg === 'unavailable');
    const perFiveSeconds = Map.groupBy(causes, ({ time }) => Math.floor(time / 5000));
    t.true([...perFiveSeconds.values()].every(({ length }) => length <= 2));
    t.true(causes.length > 0 && causes.every(({ count, error }) => count > 0 && !error.stack));
    await gate.open();
    t.deepEqual(await answers(), asEver);
    t.deepEqual(await storedRows(orm), before);
    t.is(api.child.exitCode, null);
  },
);

const some = crypto.randomUUID();

/** Bodies that make a call reach its own rows, by the end of its path. Other calls need none. */
const bodies: Readonly<Record<string, object>> = {
  'POST posts': { body: 'x', channel_ids: [some] },
  'POST validate': { body: 'x', channel_ids: [some] },
  'POST connect': { platform: 'mastodon', channel_id: some },
  'POST settle': { channel_id: some, url: null },
  'POST refresh': { post_id: some },
  'POST import': { url: 'https://8.8.8.8/a.jpg' },
  'POST keys': { name: 'x', scopes: ['media'], channel_ids: [some] },
  'POST webhooks': { url: 'https://8.8.8.8/', events: ['post.failed'] },
};

test.serial(
  'while the database is read-only, as a standby is, creations are 503 and /status says why',
  async (t) => {
    const { orm, gate, api, call, env } = calling();
    const set = (value: string): Promise<unknown> =>
      orm.em.fork().execute(`begin read write;
        alter role current_user in database ${orm.config.get('dbName')} set default_transaction_read_only = ${value};
        commit`);
    await set('on');
    t.teardown(() => set('off'));
    await gate.close();
    await gate.open();
    const status = () => rawCall(`${api.url}/status`);
    const said = await poll(status, ({ body }) => /writes/v.test(body.postgresql));
    t.is(said.status, 503);
    t.is(said.body.postgresql, 'takes no writes: it is read-only');
    mustBeAway(t, await call('POST', '/api/v1/posts', { body: 'Hello' }));
    const started = await startApiProcess(t, env);
    const asked = await rawCall(`${started.url}/status`);
    t.is(asked.body.postgresql, 'takes no writes: it is read-only');
    await poll(started.log, (text) => /The database cannot be used: .* read-only/v.test(text));

    await set('off');
    await gate.close();
    await gate.open();
    await poll(status, ({ body }) => body.postgresql === 'ok');
    t.is((await call('POST', '/api/v1/posts', { body: 'Hello' })).status, 201);
  },
);

test.serial('calls that were running when the database failed are 503 too, not 500', async (t) => {
  const { orm, gate, call, api } = calling();
  const tables =
    'posts, post_metrics, channels, connect_links, webhook_endpoints, events, media_files';
  const lock = await holdLock(t, orm, `lock table ${tables} in access exclusive mode`);
  // These read none of the locked tables. Calls for operators are refused at once.
  const atOnce = new Set([
    'POST /api/v1/media',
    'GET /api/v1/networks',
    'GET /api/v1/audit',
    'GET /api/v1/keys',
    `PATCH /api/v1/keys/${some}`,
    `DELETE /api/v1/keys/${some}`,
  ]);
  const calls = everyRoute(some).filter(
    ({ method, path }) =>
      !atOnce.has(`${method} ${path}`) && !path.startsWith('/api/v1/workspaces'),
  );
  const sending = calls.map(({ method, path }) => {
    const since = path.endsWith(`${some}/replay`) ? '?since=2020-01-01T00:00:00Z' : '';
    const body = bodies[`${method} ${path.split('/').at(-1)}`];
    return call(method, path.endsWith(`deliveries/${some}/replay`) ? path : path + since, body);
  });
  await poll(lock.waiting, (count) => count === 2); // The others of the key wait for their turn.

  await gate.close();
  const replies = await Promise.all(sending);
  lock.release();
  await gate.open();

  const answers = calls.map(({ method, path }, index) => {
    const { status, body, headers } = replies[index] as Reply;
    return `${method} ${path} ${status} ${body.code} ${headers.get('retry-after')}`;
  });
  t.deepEqual(
    answers.filter((answer) => !answer.endsWith(' 503 unavailable 2')),
    [],
  );
  await poll(
    () => call('GET', '/api/v1/me'),
    ({ status }) => status === 200,
  );
  t.is(api.child.exitCode, null);
});
