import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import type { Reply } from '../support/client.ts';
import { startReadyApi } from '../support/api-process.ts';
import { sharedApi } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { rawCall } from '../support/raw-call.ts';
import { storedRows } from '../support/stored-rows.ts';
import { everyRoute } from './every-route.ts';

const api = sharedApi(test);

const json = { 'content-type': 'application/json' };

test('a client that sends five requests before it reads an answer is disconnected, and one with four gets all', async (t) => {
  for (const [count, answered] of [
    [4, 4],
    [5, 0],
  ] as const) {
    const one = `GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n`;
    const last = one.replace('Host', 'Connection: close\r\nHost');
    const socket = connect(Number(new URL(api.punctual.url).port), '127.0.0.1');
    socket.write(one.repeat(count - 1) + last);
    const answers = await text(socket);
    t.is(answers.split('HTTP/1.1 200 ').length - 1, answered);
  }
});

test('every response has a request id, and a valid one of the caller is kept', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const authorization = `Bearer ${client.key}`;
  const answers: [string, number, RequestInit][] = [
    ['/healthz', 200, {}],
    ['/api/v1/me', 200, { headers: { authorization } }],
    ['/api/v1/me', 401, {}],
    ['/nowhere', 404, {}],
    [`/api/v1/posts/x`, 404, { headers: { authorization } }],
    ['/api/v1/me', 405, { method: 'DELETE' }],
    ['/api/v1/posts', 400, { method: 'POST', headers: { authorization, ...json }, body: '{' }],
  ];
  const seen = new Set<string>();
  for (const [path, status, init] of answers) {
    const reply = await rawCall(punctual.url + path, init);
    t.is(reply.status, status, path);
    const id = reply.headers.get('x-request-id') ?? '';
    t.regex(id, /^[0-9a-f\-]{36}$/v);
    seen.add(id);
  }

  t.is(seen.size, answers.length);
  const given = async (id: string): Promise<string | null> =>
    (await rawCall(`${punctual.url}/healthz`, { headers: { 'x-request-id': id } })).headers.get(
      'x-request-id',
    );
  t.is(await given('abc-1.2:3_4'), 'abc-1.2:3_4');
  for (const harmful of ['a b', '"><script>', 'x'.repeat(101), 'é']) {
    t.not(await given(harmful), harmful);
  }
});

test('each write and each refusal of a known key is a line of the log, with its request, key and workspace, and without its body', async (t) => {
  const { workspaceId, key } = await api.newClient();
  const { databaseUrl, secretKey, temporalEnv } = api.punctual;
  const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, ...temporalEnv };
  const { url, log } = await startReadyApi(t, settings);
  const call = (id: string, method: string, path: string, more: object, body?: object) =>
    rawCall(url + path, {
      method,
      headers: { ...json, 'x-request-id': id, ...more },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const known = { authorization: `Bearer ${key}` };
  const post = { body: 'nobody reads this' };
  const posts = '/api/v1/posts';
  await call('read', 'GET', posts, known);
  await call('probe', 'GET', '/healthz', {});
  await call('write', 'POST', `${posts}/validate?x=hidden`, known, post);
  await call('post', 'POST', posts, known, post);
  await call('unknown', 'GET', `${posts}/${key}`, known);
  await call('wrong', 'GET', posts, { authorization: 'Bearer svc_live_wrong' });

  await call('last', 'GET', `${posts}/none`, known);
  const requests = async () =>
    log()
      .split('\n')
      .flatMap((line) => (line.includes('"msg":"request"') ? [JSON.parse(line)] : []));
  const lines = await poll(requests, (found) => found.at(-1)?.request_id === 'last');
  t.deepEqual(
    lines.map(({ request_id: id, method, path, status }) => [id, method, path, status]),
    [
      ['write', 'POST', `${posts}/validate`, 400],
      ['post', 'POST', posts, 201],
      ['unknown', 'GET', `${posts}/svc_live_…`, 404],
      ['last', 'GET', `${posts}/none`, 404],
    ],
  );
  const [, { ms, key: keyId, ...line }] = lines;
  t.true(ms >= 0 && ms < 60_000);
  t.is(keyId, (await rawCall(`${url}/api/v1/me`, { headers: known })).body.key.id);
  t.like(line, { level: 30, workspace: workspaceId });
  for (const secret of [key.slice('svc_live_'.length), 'hidden', post.body]) {
    t.false(log().includes(secret));
  }
});

test('a connection stays open for 75 s after an answer, longer than load balancers keep theirs, and ends with the next answer of a stopping API', async (t) => {
  const { key } = await api.newClient();
  const { databaseUrl, secretKey, temporalEnv } = api.punctual;
  const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, ...temporalEnv };
  const { url, child } = await startReadyApi(t, settings);
  const [headers, agent] = [{ authorization: `Bearer ${key}` }, new Agent({ keepAlive: true })];
  let answers = 0;
  const consume = async (): Promise<void> => {
    for (; ; answers += 1) {
      const call = request(`${url}/api/v1/events?wait=25`, { headers, agent }).end();
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      await text(response);
      t.is(response.headers['keep-alive'], answers === 0 ? 'timeout=75' : undefined);
    }
  };
  const consuming = t.throwsAsync(consume, { code: 'ECONNREFUSED' });
  await rawCall(`${url}/healthz`); // Then the call for events has arrived.
  child.kill();
  await consuming;
  t.is(answers, 2);
});

test('no response of a call may be cached, secrets and refusals included', async (t) => {
  const client = await api.newClient();
  const created = await client.post('/webhooks', { url: 'https://8.8.8.8/hook', events: ['*'] });
  const answers: [Reply, number][] = [
    [created, 201],
    [await client.post(`/webhooks/${created.body.webhook.id}/rotate`), 200],
    [await client.get('/posts'), 200],
    [await client.post('/posts', { bdy: 1 }), 400],
    [await client.get(`/posts/${crypto.randomUUID()}`), 404],
    [await rawCall(`${api.punctual.url}/api/v1/me`), 401],
  ];
  for (const [{ status, headers }, expected] of answers) {
    t.is(status, expected);
    t.is(headers.get('cache-control'), 'no-store', String(status));
  }
});

test('a body over 1 MB is 413, also in chunks, and the connection stays usable', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const large = { body: 'x'.repeat(1024 * 1024) };
  const reply = await client.post('/posts', large);
  t.is(reply.status, 413);
  t.is(reply.body.code, 'payload_too_large');
  t.is(await statusOfChunks(punctual.url, client.key, JSON.stringify(large)), 413);
  t.is((await storedRows(punctual.orm, client.workspaceId)).posts, 0);
  const thread = Array.from({ length: 5 }, () => '\u{10400}'.repeat(50_000));
  t.is((await client.post('/posts', { thread })).status, 201);
});

test('a path in another case or with a trailing slash is unknown', async (t) => {
  const { punctual } = api;
  const { key } = await api.newClient();
  const call = (method: string, path: string): Promise<Reply> =>
    rawCall(punctual.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  const calls = everyRoute(crypto.randomUUID());
  t.true(calls.length >= 15);
  for (const { method, path } of [...calls, { method: 'GET', path: '/api/v1/me' }]) {
    const others = [
      `${path}/`,
      path.replace('/api/v1', '/API/v1'),
      path.replace('/api/v1', '/api/V1'),
      path.replace(/(?<=v1\/)[a-z]+/v, (word) => word.toUpperCase()),
      path.replace('/api/v1', '/api/v1/'),
    ];
    for (const other of others.filter((one) => one !== path)) {
      const reply = await call(method, other);
      t.is(reply.status, 404, `${method} ${other}`);
      t.is(reply.body.code, 'not_found', other);
    }
  }

  t.is((await call('GET', '/api/v1/me')).status, 200);
});

async function statusOfChunks(url: string, key: string, body: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${key}`, ...json };
  const sending = request(`${url}/api/v1/posts`, { method: 'POST', headers });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    sending.on('response', (response) => {
      void text(response).then(() => resolve(response.statusCode), reject);
    });
    sending.on('error', reject);
  });
  sending.write(body.slice(0, 1000));
  sending.end(body.slice(1000));
  return answered;
}
