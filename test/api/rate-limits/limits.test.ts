import { request } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { authenticator, createPool } from '../../../api/http/authenticate.ts';
import { clientAddress } from '../../../api/rate-limits/client-address.ts';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { clientFor, newClient, type Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { noTemporal } from '../../support/media-library.ts';
import { startApi, usualQuotas, type ApiOptions } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { testLog } from '../../support/temporal.ts';

const api = sharedApi(test, {
  temporalEnv: noTemporal,
  rateLimits: { requests: 40, writes: 7 },
});

const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status);

/** `{requests: {r: 4, t: 60}}` from `RateLimit: "requests";r=4;t=60`. */
const standing = ({ headers }: Reply): Record<string, { r: number; t: number }> =>
  Object.fromEntries(
    (headers.get('ratelimit') ?? '').split(', ').map((item) => {
      const [, name = '', r, t] = /^"([a-z\-]+)";r=(\d+);t=(\d+)$/v.exec(item) ?? [];
      return [name, { r: Number(r), t: Number(t) }];
    }),
  );

test('a call beyond the limit is 429 with Retry-After, and another key is not affected', async (t) => {
  // All counted calls must fit into one real minute: few calls, and a separate API.
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 3 } });
  const client = await newClient(punctual);
  for (let left = 2; left >= 0; left -= 1) {
    const reply = await client.get('/me');
    t.is(reply.status, 200);
    t.is(standing(reply)['requests']?.r, left);
  }

  for (const reply of [await client.get('/me'), await client.get('/channels')]) {
    t.is(reply.status, 429);
    t.is(reply.body.code, 'rate_limited');
    const seconds = Number(reply.headers.get('retry-after'));
    t.true(seconds >= 1 && seconds <= 60, String(seconds));
    t.deepEqual(standing(reply), { requests: { r: 0, t: seconds } });
    t.regex(reply.body.error, new RegExp(`More than 3 requests.*${seconds} s`, 'v'));
  }

  const another = await createApiKey(punctual.orm.em.fork(), client.workspaceId);
  t.is((await clientFor(punctual.url, client.workspaceId, another).get('/me')).status, 200);
});

test('writes have a separate limit, and reads and validations continue beyond it', async (t) => {
  const client = await api.newClient();
  const first = await client.post('/posts', { body: 'x' });
  t.deepEqual(
    Object.values(standing(first)).map(({ r }) => r),
    [39, 6],
  );
  const id = first.body.post.id;
  for (let left = 6; left > 0; left -= 1) {
    t.is((await client.patch(`/posts/${id}`, { body: 'y' })).status, 200);
  }

  const refused = [
    await client.post('/posts', { body: 'z' }),
    await client.patch(`/posts/${id}`, { body: 'z' }),
    await client.delete(`/webhooks/${id}`),
  ];
  t.deepEqual(statuses(refused), [429, 429, 429]);
  t.regex(refused[0]?.body.error, /More than 7 writes/v);

  const reply = await client.get(`/posts/${id}`);
  t.is(reply.body.post.body, 'y');
  t.is((await client.post('/posts/validate', { body: 'z' })).status, 200);
  t.is(standing(reply)['requests']?.r, 40 - 7 - 3 - 1); // Refused writes also count as requests.
  t.is((await storedRows(api.punctual.orm, client.workspaceId)).posts, 1);
});

test('calls without a key requirement are never refused', async (t) => {
  // Its own API, in which no call is counted.
  const rateLimits = { requests: 1, writes: 1, wrongKeys: 1 };
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits });
  for (const path of ['/openapi.json', '/docs', '/healthz', '/readyz', '/api/v1/nothing']) {
    for (let n = 0; n < 4; n += 1) {
      t.not((await rawCall(punctual.url + path)).status, 429, path);
    }
  }
});

test('of many concurrent calls exactly the limit is accepted', async (t) => {
  const client = await api.newClient();
  const writes = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/posts', { body: 'x' })),
  );
  t.is(statuses(writes).filter((status) => status === 201).length, 7);
  const reads = await Promise.all(Array.from({ length: 40 }, () => client.get('/me')));
  t.is(statuses(reads).filter((status) => status === 200).length, 20);
  t.is((await storedRows(api.punctual.orm, client.workspaceId)).posts, 7);
});

test('a call beyond the limit is refused before its body is read', async (t) => {
  const client = await api.newClient();
  for (let left = 7; left > 0; left -= 1) {
    t.is((await client.post('/posts', { body: 'x' })).status, 201);
  }

  t.is((await client.post('/posts', { bdy: 'no such field' })).status, 429);

  const headers = {
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
    'content-length': '500000',
  };
  const sending = request(`${api.punctual.url}/api/v1/posts`, { method: 'POST', headers });
  t.teardown(() => sending.destroy());
  const status = new Promise((resolve, reject) => {
    sending.on('response', (response) => resolve(response.statusCode)).on('error', reject);
  });
  sending.write('{"body":"'); // And nothing more.
  t.is(await status, 429);
});

/** Its own API with a limit of two wrong keys a minute, and calls from addresses that a proxy names. */
async function guessing(t: ExecutionContext, options: ApiOptions = {}) {
  const punctual = await startApi(t, {
    temporalEnv: noTemporal,
    rateLimits: { wrongKeys: 2 },
    ...options,
  });
  const { key } = await newClient(punctual);
  const call = (authorization: string, forwardedFor?: string): Promise<Reply> =>
    rawCall(`${punctual.url}/api/v1/me`, {
      headers: {
        authorization,
        ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
      },
    });
  let guesses = 0;
  const guess = async (forwardedFor?: string): Promise<number> => {
    guesses += 1;
    return (await call(`Bearer svc_live_${guesses}`, forwardedFor)).status;
  };
  return { punctual, right: `Bearer ${key}`, call, guess };
}

test('clients behind a proxy that adds ports are distinguished by address', (t) => {
  for (const [named, client] of [
    ['203.0.113.7:4711', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:4711', '203.0.113.7'],
    ['[2001:db8:1:2::7]:4711', '20010db800010002/64'],
    ['[2001:db8:1:2::7]', '20010db800010002/64'],
    ['2001:db8:1:2::7', '20010db800010002/64'],
    ['203.0.113.7:', 'unknown'],
    ['[203.0.113.7]:4711', 'unknown'],
    ['proxy:4711', 'unknown'],
  ] as const) {
    t.is(clientAddress(named), client, named);
  }
});

test('wrong keys from one address are refused after a few, and a valid key from there is not', async (t) => {
  const { call, guess, right } = await guessing(t);
  t.deepEqual([await guess(), await guess(), await guess(), await guess()], [401, 401, 429, 429]);
  t.is((await call(right)).status, 200);

  const reply = await call('Bearer svc_live_once_more');
  t.is(reply.body.code, 'rate_limited');
  const seconds = Number(reply.headers.get('retry-after'));
  t.true(seconds >= 1 && seconds <= 60);
  t.is(reply.headers.get('ratelimit-policy'), '"wrong-keys";q=2;w=60');
  t.is(reply.headers.get('ratelimit'), `"wrong-keys";r=0;t=${seconds}`);
  t.false(JSON.stringify(reply.body).includes('127.0.0.1'));
});

test('wrong keys that arrive together are one statement, those of operators too', async (t) => {
  const pool = createPool(api.punctual.databaseUrl, testLog);
  t.teardown(() => pool.end());
  let statements = 0;
  pool.on('acquire', () => (statements += 1));
  const find = authenticator(pool, usualQuotas, () => undefined);
  for (const prefix of ['svc_live_', 'svc_admin_']) {
    const all = Array.from({ length: 200 }, (_, n) => find(`Bearer ${prefix}${n}`));
    t.deepEqual(new Set(await Promise.all(all)), new Set([null]));
  }

  t.is(statements, 2);
});

test('a call without a key does not count as a wrong key', async (t) => {
  const { call } = await guessing(t);
  for (const authorization of ['', '', '', 'Bearer', 'Basic YTpi']) {
    t.is((await call(authorization)).status, 401);
  }
});

test('a forged address does not bypass the limit', async (t) => {
  const { guess } = await guessing(t);
  const answers = [await guess('192.0.2.1'), await guess('192.0.2.2'), await guess('192.0.2.3')];
  t.deepEqual(answers, [401, 401, 429]);
});

test('behind a trusted proxy each client is counted separately, by the address that the proxy reports', async (t) => {
  const { guess } = await guessing(t, { trustedProxies: 1 });
  const spoofed = (n: number): string => `198.51.100.${n}, 192.0.2.1`;
  t.deepEqual(
    [await guess(spoofed(1)), await guess(spoofed(2)), await guess(spoofed(3))],
    [401, 401, 429],
  );
  t.is(await guess('192.0.2.2'), 401);
  t.is(await guess(), 401); // From the proxy itself.
});

test('behind two proxies the first trusted one names the client', async (t) => {
  const { guess } = await guessing(t, { trustedProxies: 2 });
  const from = (client: string): string => `203.0.113.9, ${client}, 10.0.0.1`;
  for (const [last, status] of [[1, 401] as const, [1, 401], [1, 429], [2, 401]]) {
    t.is(await guess(from(`192.0.2.${last}`)), status);
  }
});

test('concurrent writes beyond the limit of requests do not count as writes', async (t) => {
  // All counted calls must fit into one real minute: few calls, and a separate API.
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 4 } });
  const client = await newClient(punctual);
  const [me] = await Promise.all([client.get('/me'), client.get('/me')]);
  const calls = Array.from({ length: 10 }, () => client.post('/posts', { body: 'x' }));
  const accepted = (await Promise.all(calls)).filter(({ status }) => status === 201);
  t.is(accepted.length, 2);
  t.is((await punctual.callsOf(me.body.key.id)).writes, 2);
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

  t.deepEqual(statuses(replies), [...Array.from({ length: 20 }, () => 200), 429, 429]);
  const headers = replies.at(-1)?.headers;
  t.regex(headers?.get('ratelimit') ?? '', /^"workspace-requests";r=0;t=\d+$/v);
  t.regex(headers?.get('ratelimit-policy') ?? '', /^"workspace-requests";q=20;w=60, /v);
  t.is((await (await newClient(punctual)).get('/me')).status, 200, 'another workspace');
});
