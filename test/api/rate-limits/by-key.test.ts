import { request } from 'node:http';
import test from 'ava';
import { createApiKey } from '../../../cli/create-workspace.ts';
import { clientFor, newClient, type Reply } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';

const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status);

/** `{requests: {r: 4, t: 60}}` of `RateLimit: "requests";r=4;t=60`. */
const standing = ({ headers }: Reply): Record<string, { r: number; t: number }> =>
  Object.fromEntries(
    (headers.get('ratelimit') ?? '').split(', ').map((item) => {
      const [, name = '', r, t] = /^"([a-z\-]+)";r=(\d+);t=(\d+)$/v.exec(item) ?? [];
      return [name, { r: Number(r), t: Number(t) }];
    }),
  );

test('the call that is one too many is 429 and says when to go on, and another key goes on at once', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 3 } });
  const client = await newClient(punctual);
  for (const left of [2, 1, 0]) {
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

test('calls that change something have a limit of their own, and reading goes on past it', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 9, writes: 2 } });
  const client = await newClient(punctual);
  const first = await client.post('/posts', { body: 'x' });
  t.deepEqual(
    Object.values(standing(first)).map(({ r }) => r),
    [8, 1],
  );
  const id = first.body.post.id;
  t.is((await client.patch(`/posts/${id}`, { body: 'y' })).status, 200);
  const refused = [
    await client.post('/posts', { body: 'z' }),
    await client.patch(`/posts/${id}`, { body: 'z' }),
    await client.delete(`/webhooks/${id}`),
  ];
  t.deepEqual(statuses(refused), [429, 429, 429]);
  t.regex(refused[0]?.body.error, /More than 2 writes/v);

  const reply = await client.get(`/posts/${id}`);
  t.is(reply.body.post.body, 'y');
  t.is(standing(reply)['requests']?.r, 3); // Refused writes were requests too.
  t.is((await storedRows(punctual.orm)).posts, 1);
});

test('every answer to a known caller tells of the limits, whatever else it says', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 120, writes: 60 } });
  const client = await newClient(punctual);
  const policy = '"requests";q=120;w=60, "writes";q=60;w=60';
  const replies = [
    await client.get('/me'),
    await client.post('/posts', { body: 'x' }),
    await client.post('/posts', {}),
    await client.get('/posts/none'),
    await client.get('/posts?nothing=1'),
  ];
  t.deepEqual(statuses(replies), [200, 201, 400, 404, 400]);
  for (const [index, reply] of replies.entries()) {
    t.is(reply.headers.get('ratelimit-policy'), policy);
    t.is(standing(reply)['requests']?.r, 119 - index);
  }

  const strangers = ['/api/v1/me', '/api/v1/nothing', '/openapi.json', '/docs', '/healthz'];
  for (const path of strangers) {
    const { headers } = await rawCall(punctual.url + path);
    t.false(headers.has('ratelimit') || headers.has('ratelimit-policy'), path);
  }
});

test('what needs no key is never refused', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 1, writes: 1, wrongKeys: 1 } });
  for (const path of ['/openapi.json', '/docs', '/healthz', '/readyz', '/api/v1/nothing']) {
    for (let n = 0; n < 4; n += 1) {
      t.not((await rawCall(punctual.url + path)).status, 429, path);
    }
  }

  t.deepEqual(await punctual.orm.em.fork().execute('select * from rate_limits'), []);
});

test('a window that is over begins anew', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 5 } });
  const client = await newClient(punctual);
  await client.get('/me');
  t.is(standing(await client.get('/me'))['requests']?.r, 3);
  await punctual.orm.em.fork().execute('update rate_limits set expire = ?', [Date.now() - 1]);
  t.deepEqual(standing(await client.get('/me')), { requests: { r: 4, t: 60 } });
});

test('of many calls at once exactly as many get through as there may be', async (t) => {
  const punctual = await startApi(t, { rateLimits: { requests: 40, writes: 7 } });
  const client = await newClient(punctual);
  const writes = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/posts', { body: 'x' })),
  );
  t.is(statuses(writes).filter((status) => status === 201).length, 7);
  const reads = await Promise.all(Array.from({ length: 40 }, () => client.get('/me')));
  t.is(statuses(reads).filter((status) => status === 200).length, 20);
  t.is((await storedRows(punctual.orm)).posts, 7);
});

test('a call that is one too many is refused before its body is read', async (t) => {
  const punctual = await startApi(t, { rateLimits: { writes: 1 } });
  const client = await newClient(punctual);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  t.is((await client.post('/posts', { bdy: 'no such field' })).status, 429);

  const headers = {
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
    'content-length': '500000',
  };
  const sending = request(`${punctual.url}/api/v1/posts`, { method: 'POST', headers });
  t.teardown(() => sending.destroy());
  const status = new Promise((resolve, reject) => {
    sending.on('response', (response) => resolve(response.statusCode)).on('error', reject);
  });
  sending.write('{"body":"'); // And no more than that.
  t.is(await status, 429);
});

test('the database holds no API key and no hash of one among the counters', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  await client.get('/me');
  await client.post('/posts', { body: 'x' });
  const em = punctual.orm.em.fork();
  const [key] = await em.execute<{ id: string }[]>('select id from api_keys');
  const rows = await em.execute<{ key: string; points: number }[]>(
    'select key, points from rate_limits order by key',
  );
  t.deepEqual(rows, [
    { key: `requests:${key?.id}`, points: 2 },
    { key: `writes:${key?.id}`, points: 1 },
  ]);
});
