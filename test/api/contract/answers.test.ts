import test from 'ava';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';
import { ownedBy, silentPort } from '../owned.ts';

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
