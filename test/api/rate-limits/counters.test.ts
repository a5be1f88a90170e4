import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { clientFor, newClient, type Reply } from '../../support/client.ts';
import { freshDatabase } from '../../support/database.ts';
import { noTemporal } from '../../support/media-library.ts';
import { poll } from '../../support/poll.ts';
import { startApi } from '../../support/punctual.ts';
import { targetOf, tcpGate, throughGate } from '../../support/tcp-gate.ts';
import { startReadyApi } from '../../support/api-process.ts';
import { rawCall } from '../../support/raw-call.ts';

test('concurrent writes beyond the limit of requests do not count as writes', async (t) => {
  // All counted calls must fit into one real minute: few calls, and a separate API.
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 4 } });
  const client = await newClient(punctual);
  await Promise.all([client.get('/me'), client.get('/me')]);
  const calls = Array.from({ length: 10 }, () => client.post('/posts', { body: 'x' }));
  const accepted = (await Promise.all(calls)).filter(({ status }) => status === 201);
  t.is(accepted.length, 2);
  const { id } = (
    await punctual.orm.em.fork().execute<{ id: string }[]>('select id from api_keys')
  )[0] ?? { id: '' };
  t.is((await punctual.callsOf(id)).writes, 2);
});

test('all keys of a workspace together have the calls of ten, however many it makes', async (t) => {
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 2 } });
  const { workspaceId } = await newClient(punctual);
  const replies: Reply[] = [];
  for (let n = 0; n < 11; n += 1) {
    const key = await createApiKey(punctual.orm.em.fork(), workspaceId);
    const client = clientFor(punctual.url, workspaceId, key);
    replies.push(await client.get('/me'), await client.get('/me'));
  }

  const statuses = replies.map(({ status }) => status);
  t.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429, 429]);
  const headers = replies.at(-1)?.headers;
  t.regex(headers?.get('ratelimit') ?? '', /^"workspace-requests";r=0;t=\d+$/v);
  t.regex(headers?.get('ratelimit-policy') ?? '', /^"workspace-requests";q=20;w=60, /v);
  t.is((await (await newClient(punctual)).get('/me')).status, 200, 'another workspace');
});

test('GET /usage shows the calls of the key', async (t) => {
  const punctual = await startApi(t, { temporalEnv: noTemporal });
  const client = await newClient(punctual);
  await client.post('/posts', { body: 'x' });
  const { usage } = (await client.get('/usage')).body;
  t.deepEqual([usage.requests.used, usage.writes.used], [2, 1]);
});

test('without the keys every call is 503, and works again afterwards', async (t) => {
  const punctual = await startApi(t, { temporalEnv: noTemporal }); // Its keys are removed.
  const client = await newClient(punctual);
  const em = punctual.orm.em.fork();
  await em.execute('alter table api_keys rename to elsewhere');
  for (const reply of [await client.get('/me'), await client.post('/posts', { body: 'x' })]) {
    t.is(reply.status, 503);
    t.is(reply.body.code, 'unavailable');
    t.regex(reply.headers.get('retry-after') ?? '', /^\d+$/v);
  }

  await em.execute('alter table elsewhere rename to api_keys');
  t.is((await client.get('/me')).status, 200);
});

test('a silent connection makes one call a 503 after a few seconds, and the next one opens a new connection', async (t) => {
  const { url: databaseUrl } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const api = await startReadyApi(t, {
    ...noTemporal,
    DATABASE_URL: throughGate(databaseUrl, gate),
    SECRET_KEY: randomBytes(32).toString('hex'),
  });
  const headers = { authorization: 'Bearer svc_live_wrong' };
  const call = async (): Promise<number> =>
    (await rawCall(`${api.url}/api/v1/me`, { headers })).status;
  const callsOnSilence = async (): Promise<number[]> => {
    await gate.close();
    await gate.open();
    t.is(await poll(call, (status) => status !== 503), 401);
    gate.freeze();
    return (await Promise.all([call(), call(), call()])).toSorted();
  };
  // Repeated when a slow machine took longer for the new connection than the API waits.
  const expected = [401, 401, 503];
  t.deepEqual(await poll(callsOnSilence, (seen) => isDeepStrictEqual(seen, expected)), expected);
  await gate.close(); // Lets the process end at once.
});
