import test, { type ExecutionContext } from 'ava';
import { startApi } from '../../support/punctual.ts';
import { ownedBy, silentPort } from '../owned.ts';
import { rawCall } from '../../support/raw-call.ts';

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v;
const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/v;

async function world(t: ExecutionContext) {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  return { punctual, owned: await ownedBy(punctual) };
}

/** Every value in an answer, with the name of its field. */
function* fields(value: unknown, name = ''): Generator<readonly [string, unknown]> {
  yield [name, value];
  if (Array.isArray(value)) {
    for (const item of value) {
      yield* fields(item, name);
    }
  } else if (value !== null && typeof value === 'object') {
    for (const [key, part] of Object.entries(value)) {
      yield* fields(part, key);
    }
  }
}

test('every id that goes out is a UUIDv7 in lower case, and every time is UTC with milliseconds', async (t) => {
  const { owned } = await world(t);
  const { client } = owned;
  const paths = [
    '/me',
    '/channels',
    '/posts',
    `/posts/${owned.scheduled}`,
    `/posts/${owned.failed}`,
    '/media',
    '/webhooks',
    `/webhooks/${owned.webhook}`,
    '/analytics',
  ];
  const seen = { ids: 0, times: 0 };
  for (const path of paths) {
    const { status, body } = await client.get(path);
    t.is(status, 200, path);
    for (const [name, value] of fields(body)) {
      if (/^id$|_id$/v.test(name) && typeof value === 'string') {
        t.regex(value, v7, `${path} ${name}`);
        seen.ids += 1;
      }

      if (name.endsWith('_at') && value !== null) {
        t.regex(String(value), utc, `${path} ${name}`);
        seen.times += 1;
      }
    }
  }

  t.true(seen.ids >= 12 && seen.times >= 8, JSON.stringify(seen));
});

test('a post has every field of the specification and the decisions, whatever it was made of', async (t) => {
  const { owned } = await world(t);
  const { post } = (await owned.client.get(`/posts/${owned.failed}`)).body;
  const wanted = ['id', 'status', 'channels', 'body', 'thread', 'scheduled_at', 'created_at'];
  const more = ['media', 'summary', 'warning', 'video', 'published_at', 'updated_at'];
  t.deepEqual(Object.keys(post).toSorted(), [...wanted, ...more].toSorted());
  const named = ['channel_id', 'status', 'platform', 'handle', 'url', 'error', 'error_code'];
  const others = ['warning', 'retry_at', 'body', 'metrics'];
  t.deepEqual(Object.keys(post.channels[0]).toSorted(), [...named, ...others].toSorted());
  t.deepEqual(Object.keys(post.summary).toSorted(), ['failed', 'pending', 'published']);
});

test('an error is a sentence and a code, with details where there is more to say, and nothing else', async (t) => {
  const { owned } = await world(t);
  const { client } = owned;
  const replies = [
    await client.post('/posts', { colour: 'red' }),
    await client.post('/posts', {}),
    await client.get(`/posts/${crypto.randomUUID()}`),
    await client.get('/posts?status=x'),
    await client.post(`/posts/${owned.draft}/cancel`),
    await client.post(`/posts/${owned.draft}/retry`),
    await client.post('/webhooks', { url: 'x', events: [] }),
    await client.get('/nowhere'),
  ];
  for (const { status, body, headers } of replies) {
    t.true(status >= 400 && status < 500);
    const { error, code, details = [], ...rest } = body;
    t.deepEqual(rest, {});
    t.regex(error, /^\S.*[.!]$/v, 'a sentence');
    t.regex(code, /^[a-z_]+$/v);
    for (const detail of details) {
      t.deepEqual(Object.keys(detail).toSorted(), ['message', 'path']);
    }

    t.truthy(headers.get('x-request-id'));
  }
});

test('all that is wrong with a request is said at once, each with its path', async (t) => {
  const { owned } = await world(t);
  const wrong = { body: 1, thread: 'x', colour: 'red', video: { privacy: 'secret', size: 1 } };
  const { body } = await owned.client.post('/posts', wrong);
  t.is(body.code, 'invalid_request');
  t.deepEqual(body.details.map(({ path }: { path: string }) => path).toSorted(), [
    '/body',
    '/colour',
    '/thread',
    '/video/privacy',
    '/video/size',
  ]);
});

test('a request id of the caller comes back, with errors too', async (t) => {
  const { punctual } = await world(t);
  for (const path of ['/api/v1/me', '/api/v1/nowhere']) {
    const headers = { 'x-request-id': 'mine-1' };
    const reply = await rawCall(punctual.url + path, { headers });
    t.is(reply.headers.get('x-request-id'), 'mine-1', path);
  }
});

test('what a call makes is found at its Location', async (t) => {
  const { punctual, owned } = await world(t);
  const { client } = owned;
  const hook = { url: 'https://8.8.8.8/', events: ['webhook.test'] };
  for (const reply of [
    await client.post('/posts', { body: 'x' }),
    await client.post('/webhooks', hook),
  ]) {
    const location = reply.headers.get('location') ?? '';
    t.regex(location, /^\/api\/v1\//v);
    const headers = { authorization: `Bearer ${client.key}` };
    t.is((await rawCall(punctual.url + location, { headers })).status, 200, location);
  }
});

test('the signing secret is shown by the call that makes the endpoint and by no other', async (t) => {
  const { owned } = await world(t);
  const { client } = owned;
  const hook = { url: 'https://8.8.8.8/', events: ['webhook.test'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  t.regex(webhook.secret, /^whsec_[0-9A-Za-z]{32}$/v);
  t.is(webhook.secret_hint, `whsec_…${webhook.secret.slice(-4)}`);
  const seen = [
    await client.get('/webhooks'),
    await client.get(`/webhooks/${webhook.id}`),
    await client.patch(`/webhooks/${webhook.id}`, { description: 'x' }),
  ];
  for (const { body } of seen) {
    t.false(JSON.stringify(body).includes(webhook.secret));
    t.false([...fields(body)].some(([name]) => name === 'secret'));
  }
});

test('a deleted endpoint is answered with ok and its id, and is gone', async (t) => {
  const { owned } = await world(t);
  const { client, webhook } = owned;
  const reply = await client.delete(`/webhooks/${webhook}`);
  t.deepEqual([reply.status, reply.body], [200, { ok: true, id: webhook }]);
  t.is((await client.get(`/webhooks/${webhook}`)).status, 404);
  t.is((await client.delete(`/webhooks/${webhook}`)).status, 404);
});
