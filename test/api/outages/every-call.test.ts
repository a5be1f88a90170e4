import test, { type ExecutionContext } from 'ava';
import type { Reply } from '../../support/client.ts';
import { freshDatabase } from '../../support/database.ts';
import { createApiKey, createWorkspace } from '../../../cli/create-workspace.ts';
import { poll } from '../../support/poll.ts';
import { targetOf, tcpGate, throughGate } from '../../support/tcp-gate.ts';
import { freshNamespace } from '../../support/temporal.ts';
import { everyRoute } from '../every-route.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { startApiProcess } from '../../support/api-process.ts';
import { holdLock } from '../../support/hold-lock.ts';

/** An API process behind a gate; the test itself reaches the database past it. */
async function world(t: ExecutionContext) {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const api = await startApiProcess(t, {
    ...(await freshNamespace()),
    DATABASE_URL: throughGate(databaseUrl, gate),
    SECRET_KEY: '5'.repeat(64),
  });
  await poll(
    () => Promise.resolve(api.log()),
    (log) => log.includes('the database is ready'),
  );
  const em = orm.em.fork();
  const key = await createApiKey(em, await createWorkspace(em, 'Test'));
  const call = (method: string, path: string, body: object = {}): Promise<Reply> => {
    const authorization = `Bearer ${key}`;
    const json = { authorization, 'content-type': 'application/json' };
    return method === 'GET' || method === 'DELETE'
      ? rawCall(api.url + path, { method, headers: { authorization } })
      : rawCall(api.url + path, { method, headers: json, body: JSON.stringify(body) });
  };
  return { orm, gate, api, call };
}

test('every call there is answers 503 without the database, and as ever when it is back, by the same process', async (t) => {
  const { orm, gate, api, call } = await world(t);
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

  await gate.open();
  t.deepEqual(await answers(), asEver);
  t.deepEqual(await storedRows(orm), before);
  t.is(api.child.exitCode, null);
});

const some = crypto.randomUUID();

/** What gets a call as far as to its own rows, by the end of its path. Others need nothing. */
const bodies: Readonly<Record<string, object>> = {
  'POST posts': { body: 'x', channel_ids: [some] },
  'POST validate': { body: 'x', channel_ids: [some] },
  'POST settle': { channel_id: some, url: null },
  'POST webhooks': { url: 'https://8.8.8.8/', events: ['post.failed'] },
};

test('calls that were at work when the database went are 503 as well, not ours to have failed', async (t) => {
  const { orm, gate, call, api } = await world(t);
  const tables = 'posts, channels, webhook_endpoints, media_files';
  const lock = await holdLock(t, orm, `lock table ${tables} in access exclusive mode`);
  // An upload has nothing to upload here, and says so at once.
  const calls = everyRoute(some).filter(
    ({ method, path }) => `${method} ${path}` !== 'POST /api/v1/media',
  );
  const sending = calls.map(({ method, path }) => {
    const since = path.endsWith(`${some}/replay`) ? '?since=2020-01-01T00:00:00Z' : '';
    const body = bodies[`${method} ${path.split('/').at(-1)}`];
    return call(method, path.endsWith(`deliveries/${some}/replay`) ? path : path + since, body);
  });
  await poll(lock.waiting, (count) => count >= 5);

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
  t.is(
    (
      await poll(
        () => call('GET', '/api/v1/me'),
        ({ status }) => status === 200,
      )
    ).status,
    200,
  );
  t.is(api.child.exitCode, null);
});
