import type { RequestListener, ServerResponse } from 'node:http';
import test from 'ava';
import { ca, fileServer } from '../api/media/support/file-server.ts';
import { newClient } from '../support/client.ts';
import { newOperator } from '../support/operator.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { startApi } from '../support/punctual.ts';
import { poll } from '../support/poll.ts';
import { rawCall } from '../support/raw-call.ts';
import { startApiProcess } from '../support/api-process.ts';

const api = sharedApi(test, { temporalEnv: noTemporal });

const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const calling = (name: string, args: object) => ({
  ...listing,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** Sends a message as a client of the era before. */
const send = (
  url: string,
  key: string | null,
  message: unknown = listing,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
) =>
  rawCall(`${url}/mcp`, {
    signal,
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });

test('a message without a right key, from elsewhere, or of another form is refused', async (t) => {
  const { punctual } = api;
  const { url } = punctual;
  const { key } = await api.newClient();
  t.is((await send(url, key)).status, 200);
  t.is((await send(url, key, listing, { origin: 'http://localhost:5173' })).status, 200);
  for (const wrong of [null, 'svc_live_wrong']) {
    const { status, headers, body } = await send(url, wrong);
    t.is(status, 401);
    t.is(headers.get('www-authenticate'), 'Bearer');
    t.is(body.code, 'unauthorized');
  }

  const operator = await newOperator(punctual);
  const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
  const wide = calling('get_post', { post_id: 'x'.repeat(1024 * 1024) });
  const refusals = [
    [await send(url, operator.key), 403, /operator key only manages workspaces/v],
    [await send(url, key, listing, { origin: 'https://evil.example' }), 403, /evil\.example/v],
    [await send(url, key, [listing, listing]), 400, /not a batch/v],
    [await send(url, key, `{"params": ${deep}}`), 400, /64 levels deep/v],
    [await send(url, key, `{"params": [${'0,'.repeat(10_000)}0]}`), 400, /10,000 values/v],
    [await send(url, key, '{"jsonrpc'), 400, /not valid JSON/v],
    [await send(url, key, wide), 413, /larger than 512 kB/v],
    [await send(url, key, listing, { 'content-type': 'text/plain' }), 415, /application\/json/v],
    [await rawCall(`${url}/mcp`), 405, /supports POST/v],
  ] as const;
  for (const [{ status, body }, expected, sentence] of refusals) {
    t.is(status, expected, JSON.stringify(body));
    t.regex(JSON.stringify(body), sentence);
  }

  const preflight = await rawCall(`${url}/mcp`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example' },
  });
  t.is(preflight.headers.get('access-control-allow-origin'), null);
});

test('a tool counts in the limits of its key, and its call in the audit log has the client’s address', async (t) => {
  const punctual = await startApi(t, {
    temporalEnv: noTemporal,
    trustedProxies: 1,
    mostPerKey: 1,
    rateLimits: { requests: 6, wrongKeys: 1 },
  });
  const client = await newClient(punctual);
  const forwarded = { 'x-forwarded-for': '203.0.113.7' };
  const create = calling('create_post', { body: 'x', idempotency_key: 'k' });
  const { body } = await send(punctual.url, client.key, create, forwarded);
  t.regex(body, /"status\\":\\"draft/v);
  const [entry] = (await client.get('/audit')).body.entries;
  t.is(entry.address, '203.0.113.7');
  t.is((await client.get('/usage')).body.usage.requests.used, 4);
  t.is((await client.get('/usage')).body.usage.writes.used, 1);
  const limited = await send(punctual.url, client.key, create, forwarded);
  t.regex(limited.body, /More than 6 requests with this API key in a minute.+isError\\?":true/v);
  t.is((await send(punctual.url, client.key)).status, 429);

  t.is((await send(punctual.url, 'svc_live_a', listing, forwarded)).status, 401);
  const wrong = await send(punctual.url, 'svc_live_b', listing, forwarded);
  t.deepEqual([wrong.status, wrong.body.code], [429, 'rate_limited']);
});

test('a client that hangs up ends the call of its tool, and the next one has its slot', async (t) => {
  const files = await fileServer(t);
  const options = { temporalEnv: noTemporal, ca, allowPorts: [files.port], mostPerKey: 1 };
  const punctual = await startApi(t, options);
  const { key } = await newClient(punctual);
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: RequestListener = (request) => {
    request.socket.on('close', () => left.resolve());
    asked.resolve();
  };
  const url = files.newSite({ '/slow': slow }).at('/slow');
  const hangUp = new AbortController();
  const upload = calling('upload_from_url', { url, idempotency_key: 'k' });
  const call = send(punctual.url, key, upload, {}, hangUp.signal);
  await asked.promise;
  t.regex((await send(punctual.url, key, calling('list_posts', {}))).body, /same time/v);
  hangUp.abort();
  await t.throwsAsync(call, { name: 'AbortError' });
  await left.promise;
  const next = async () => (await send(punctual.url, key, calling('list_posts', {}))).body;
  t.regex(await poll<string>(next, (body) => !body.includes('same time')), /"posts":\[\]/v);
});

test('a message is read only while fewer than ten others of its workspace are under way', async (t) => {
  const files = await fileServer(t);
  const punctual = await startApi(t, { temporalEnv: noTemporal, ca, allowPorts: [files.port] });
  const client = await newClient(punctual);
  const asked: ServerResponse[] = [];
  const url = files.newSite({ '/slow': (_, answer) => asked.push(answer) }).at('/slow');
  const upload = (at: number) => calling('upload_from_url', { url, idempotency_key: `${at}` });
  const calls = Array.from({ length: 10 }, (_, at) => send(punctual.url, client.key, upload(at)));
  await poll(
    () => asked.length,
    (count) => count === 10,
  );
  const { key } = (await client.post('/keys', { name: 'x', scopes: ['posts:read'] })).body.key;
  let isRead = false;
  const last = send(punctual.url, key, '{').finally(() => (isRead = true));
  const used = async () => (await client.get('/keys')).body.keys.at(-1).last_used_at;
  await poll(used, (at) => at !== null);
  t.false(isRead);
  asked.forEach((answer) => answer.writeHead(404).end());
  t.is((await last).status, 400);
  await Promise.all(calls);
});

test('the log names calls without their arguments and keys, and an API without a database answers 503', async (t) => {
  const { punctual } = api;
  const { key } = await api.newClient();
  const settings = { SECRET_KEY: punctual.secretKey, LOG_LEVEL: 'trace' };
  const [up, down] = await Promise.all([
    startApiProcess(t, { ...settings, DATABASE_URL: punctual.databaseUrl }),
    startApiProcess(t, { ...settings, DATABASE_URL: 'postgresql://no:no@127.0.0.1:1/no' }),
  ]);
  await poll(
    async () => (await rawCall(`${up.url}/readyz`)).status,
    (status) => status === 200,
  );
  for (const args of [{ body: 'Secret text', idempotency_key: 'k' }, { bdy: 'Secret text' }]) {
    t.is((await send(up.url, key, calling('create_post', args))).status, 200);
  }

  const { status, body, headers } = await send(down.url, key);
  t.deepEqual([status, body.code], [503, 'unavailable']);
  t.truthy(headers.get('retry-after'));
  for (const path of ['/mcp', '/api/v1/posts']) {
    await poll(up.log, (text) => text.includes(`"path":"${path}"`));
  }

  for (const { log } of [up, down]) {
    t.notRegex(log(), /Secret text|svc_live_/v);
  }
});
