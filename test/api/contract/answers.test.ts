import test from 'ava';
import { postStatuses } from '../../../domain/statuses.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';
import { ownedBy, silentPort } from '../owned.ts';
import { rawCall } from '../../support/raw-call.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v;
const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/v;

/** Every value of a response, with the name of its field. */
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
  const owned = await ownedBy(api.punctual);
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

test('a post has all of its fields, however it was created', async (t) => {
  const owned = await ownedBy(api.punctual);
  const { post } = (await owned.client.get(`/posts/${owned.failed}`)).body;
  const wanted =
    'id status outcome channels body thread scheduled_at created_at timezone media channel_media thread_media summary warning warnings video published_at updated_at tags metadata external_id';
  t.deepEqual(Object.keys(post).toSorted(), wanted.split(' ').toSorted());
  const named = ['channel_id', 'status', 'platform', 'handle', 'url', 'error', 'error_code'];
  const others = [
    'warning',
    'retryable',
    'retry_at',
    'body',
    'metrics',
    'metrics_updated_at',
    'gone_at',
    'options',
    'unpublish',
  ];
  t.deepEqual(Object.keys(post.channels[0]).toSorted(), [...named, ...others].toSorted());
  t.deepEqual(Object.keys(post.summary).toSorted(), ['failed', 'pending', 'published', 'removed']);
});

test('an error has a sentence, a code and optional details, and nothing else', async (t) => {
  const owned = await ownedBy(api.punctual);
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
      t.like(Object.keys(detail), ['path', 'message']);
    }

    t.truthy(headers.get('x-request-id'));
  }
});

test('all faults of a request are reported at once, each with its path', async (t) => {
  const owned = await ownedBy(api.punctual);
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

test('a created resource is found at its Location', async (t) => {
  const { client } = await ownedBy(api.punctual);
  const hook = { url: 'https://8.8.8.8/', events: ['webhook.test'] };
  for (const reply of [
    await client.post('/posts', { body: 'x' }),
    await client.post('/webhooks', hook),
  ]) {
    const location = reply.headers.get('location') ?? '';
    t.regex(location, /^\/api\/v1\//v);
    const headers = { authorization: `Bearer ${client.key}` };
    t.is((await rawCall(api.punctual.url + location, { headers })).status, 200, location);
  }
});

type Listed = { readonly id: string; readonly status: string };

/** A workspace with a channel and no posts. */
async function workspace() {
  const client = await api.newClient();
  return { client, channel: await storeChannel(api.punctual, client.workspaceId) };
}

const make = async (client: Client, body: object): Promise<string> =>
  (await client.post('/posts', body)).body.post.id;

const idsOf = (listed: readonly Listed[]): string[] => listed.map(({ id }) => id);

/** All pages of a list. */
async function pages(client: Client, query: string): Promise<Listed[][]> {
  const seen: Listed[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const on: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await client.get(`/posts?${query}${on}`);
    seen.push(body.posts);
    cursor = body.next_cursor;
  }

  return seen;
}

test('a listed post has its id, body, time, status and targets in their order', async (t) => {
  const { client, channel } = await workspace();
  const second = await storeChannel(api.punctual, client.workspaceId, { platform: 'bluesky' });
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const post = { body: 'Listed', channel_ids: [second, channel], scheduled_at: at };
  const id = await make(client, post);
  await setStatus(api.punctual, id, 'publishing', ['published', 'retrying']);

  const { posts } = (await client.get('/posts')).body;

  t.is(posts.length, 1);
  t.like(posts[0], { id, body: 'Listed', scheduled_at: at, status: 'publishing' });
  t.like(posts[0].post_targets, [
    { channel_id: second, status: 'published', platform: 'bluesky', url: 'https://social.test/0' },
    { channel_id: channel, status: 'retrying', error_code: 'network_unavailable', url: null },
  ]);
});

test('posts come newest first by the time of their creation, whatever their due time', async (t) => {
  const { client, channel } = await workspace();
  const made = [
    await make(client, { body: '1', channel_ids: [channel], schedule_in_minutes: 600 }),
    await make(client, { body: '2' }),
    await make(client, { body: '3', channel_ids: [channel], schedule_in_minutes: 5 }),
  ];
  const { posts } = (await client.get('/posts')).body;
  t.deepEqual(idsOf(posts), made.toReversed());
  await client.patch(`/posts/${made[0]}`, { body: 'edited' });
  t.deepEqual(idsOf((await client.get('/posts')).body.posts), made.toReversed());
});

test('a list filtered by status has only posts of that status', async (t) => {
  const { client, channel } = await workspace();
  const made: [string, string][] = [];
  for (const status of postStatuses) {
    const id = await make(client, { body: status, channel_ids: [channel] });
    await setStatus(api.punctual, id, status);
    made.push([status, id]);
  }

  for (const [status, id] of made) {
    const { posts } = (await client.get(`/posts?status=${status}`)).body;
    t.deepEqual(idsOf(posts), [id]);
    t.is(posts[0].status, status);
  }
});

test('a list has up to 100 posts, and a cursor to the rest', async (t) => {
  const { client } = await workspace();
  const made: string[] = [];
  for (let n = 0; n < 103; n += 1) {
    made.push(await make(client, { body: String(n) }));
  }

  const [first, second, ...none] = await pages(client, '');
  t.is(first?.length, 100);
  t.is(second?.length, 3);
  t.deepEqual(none, []);
  t.deepEqual(idsOf([...(first ?? []), ...(second ?? [])]), made.toReversed());
  t.is((await client.get('/posts?limit=100')).body.posts.length, 100);
});

test('pages list every post once, also posts with equal times and new ones', async (t) => {
  const { client } = await workspace();
  const made: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    made.push(await make(client, { body: String(n) }));
  }

  await api.punctual.orm.em
    .fork()
    .execute(`update posts set created_at = '2026-05-01T10:00:00.123Z' where workspace_id = ?`, [
      client.workspaceId,
    ]);
  for (const limit of [1, 2, 3, 7, 50]) {
    const seen = (await pages(client, `limit=${limit}&status=draft`)).flat();
    t.deepEqual(idsOf(seen).toSorted(), made.toSorted(), `limit ${limit}`);
  }

  const first = (await client.get('/posts?limit=4')).body;
  await make(client, { body: 'newer' });
  const rest = (await client.get(`/posts?cursor=${first.next_cursor}`)).body;
  t.deepEqual(idsOf([...first.posts, ...rest.posts]).toSorted(), made.toSorted());
});
