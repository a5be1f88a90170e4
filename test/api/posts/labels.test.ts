import { request } from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import { clientFor } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);
const impatient = sharedApi(test, { media: { stallMs: 2000 } });

const labels = {
  tags: ['spring', 'Grüße, "all"', 'a b'],
  metadata: { campaign: 'Ünï', 'a/b~c': '' },
  external_id: 'cms-1',
};
const none = { tags: [], metadata: {}, external_id: null };

test('tags, metadata and the external id come back as sent, in the post and in the list', async (t) => {
  const client = await api.newClient();
  const sent = { ...labels, tags: [' spring ', ...labels.tags.slice(1)] };
  const created = await client.post('/posts', { body: 'x', ...sent });
  t.is(created.status, 201);
  const { id } = created.body.post;
  t.like(created.body.post, labels);
  t.like((await client.get(`/posts/${id}`)).body.post, labels);
  const { tags, external_id } = labels;
  t.like((await client.get('/posts')).body.posts[0], { tags, external_id, outcome: null });
});

test('an edit changes the labels that it names, and null clears each', async (t) => {
  const client = await api.newClient();
  const { id } = (await client.post('/posts', { body: 'x', ...labels })).body.post;
  const edit = async (change: object) => (await client.patch(`/posts/${id}`, change)).body.post;

  t.like(await edit({ body: 'y' }), labels);
  t.like(await edit({ tags: ['new'] }), { ...labels, tags: ['new'] });
  t.like(await edit({ metadata: { only: 'this' } }), { metadata: { only: 'this' }, tags: ['new'] });
  t.like(await edit({ external_id: 'cms-2' }), { external_id: 'cms-2' });
  t.like(await edit({ tags: null, metadata: null, external_id: null }), none);
});

const refused: readonly [labels: object, path: string, message: RegExp][] = [
  [{ tags: ['a', ' '] }, '/tags/1', /^must not be blank$/v],
  [{ tags: ['a', 'b', ' a'] }, '/tags/2', /^repeats \/tags\/0: send each tag once$/v],
  [{ tags: ['x'.repeat(51)] }, '/tags/0', /at most 50 characters/v],
  [{ tags: Array.from({ length: 21 }, (_, n) => `t${n}`) }, '/tags', /at most 20 items/v],
  [{ tags: ['\0'] }, '/tags/0', /^must be text/v],
  [{ metadata: { [`${'k'.repeat(41)}`]: '' } }, `/metadata/${'k'.repeat(41)}`, /key of 1 to 40/v],
  [{ metadata: { '': 'x' } }, '/metadata/', /key of 1 to 40/v],
  [{ metadata: { 'a/b': '\uD800' } }, '/metadata/a~1b', /^must be text/v],
  [{ metadata: { n: 5 } }, '/metadata/n', /must be a string, not 5/v],
  [{ metadata: { n: 'x'.repeat(501) } }, '/metadata/n', /at most 500 characters/v],
  [{ external_id: '' }, '/external_id', /must not be empty/v],
  [{ external_id: 'x'.repeat(256) }, '/external_id', /at most 255 characters/v],
  [{ external_id: 'a\0' }, '/external_id', /^must be text/v],
];

test('labels that do not fit are refused by name, on creation, edit and validation', async (t) => {
  const client = await api.newClient();
  const { id } = (await client.post('/posts', { body: 'x' })).body.post;
  for (const [fields, path, message] of refused) {
    const calls = [
      await client.post('/posts', { body: 'x', ...fields }),
      await client.post('/posts/validate', { body: 'x', ...fields }),
      await client.patch(`/posts/${id}`, fields),
    ];
    for (const { status, body } of calls) {
      t.is(status, 400, path);
      t.is(body.code, 'invalid_request');
      t.deepEqual([body.details.length, body.details[0].path], [1, path]);
      t.regex(body.details[0].message, message);
    }
  }

  t.like((await client.get(`/posts/${id}`)).body.post, none);
  t.is((await client.post('/posts/validate', { body: 'x', ...labels })).status, 200);
});

test('an external id belongs to one post of a workspace, and the refusal names that post', async (t) => {
  const [client, other] = [await api.newClient(), await api.newClient()];
  const post = { body: 'x', external_id: 'cms-1' };
  const { id } = (await client.post('/posts', post)).body.post;
  const free = (await client.post('/posts', { body: 'x' })).body.post;
  const taken = [
    await client.post('/posts', post),
    await client.post('/posts/validate', post),
    await client.patch(`/posts/${free.id}`, { external_id: 'cms-1' }),
  ];
  for (const { status, body } of taken) {
    t.is(status, 409);
    t.is(body.code, 'external_id_taken');
    t.true(body.error.includes(`${id}: edit that post, delete it if it is on no network`));
    t.like(body.details, [{ path: '/external_id' }]);
  }

  t.is((await client.patch(`/posts/${id}`, post)).status, 200);
  t.is((await other.post('/posts/validate', post)).status, 200);
  t.is((await other.post('/posts', post)).status, 201);
});

test('a list with include has whole posts, equal to those of GET /posts/{id}, with long texts cut', async (t) => {
  const client = await api.newClient();
  const channel_ids = [
    await storeChannel(api.punctual, client.workspaceId),
    await storeChannel(api.punctual, client.workspaceId, { platform: 'bluesky' }),
  ];
  const media = await storeMedia(api.punctual, client.workspaceId);
  const small = { thread: ['x', { text: 'y', media_ids: [media] }], ...labels, channel_ids };
  await client.post('/posts', {
    ...small,
    scheduled_at: '2027-06-01T10:00',
    timezone: 'Asia/Tokyo',
  });
  const long = { body: 'ä'.repeat(20_000), channel_ids, media_ids: [media] };
  const { id } = (await client.post('/posts', long)).body.post;
  await setStatus(api.punctual, id, 'failed', ['published', 'unconfirmed']);

  const whole = async (query: string) => (await client.get(`/posts?order=asc&${query}`)).body.posts;
  for (const query of ['include=channels,media', 'include=media&include=channels']) {
    const [first, second] = await whole(query);
    const { post } = (await client.get(`/posts/${first.id}`)).body;
    const { post_targets: targets, body_truncated: isCut, ...listed } = first;
    t.deepEqual([listed, isCut, targets.length], [post, false, 2]);
    t.like(second, { outcome: 'unconfirmed', summary: { failed: 1, published: 1 } });
    t.is(second.body.length, 10_000);
    t.is(second.channels[1].body.length, 3000);
  }

  t.false('media' in (await whole('include=channels'))[0]);
  t.false('channels' in (await whole('include=media'))[0]);
  const wrong = await client.get('/posts?include=channels,medium');
  t.regex(wrong.body.error, /include.* must be one of channels, media/v);
});

test('a page of whole posts with megabytes of alt texts ends early, and the next page has the others', async (t) => {
  const client = await api.newClient();
  const channelId = await storeChannel(api.punctual, client.workspaceId);
  const altText = '漢'.repeat(1700);
  const files = Array.from({ length: 8 }, () =>
    storeMedia(api.punctual, client.workspaceId, { altText }),
  );
  const media = await Promise.all(files);
  const thread = Array.from({ length: 25 }, () => ({ text: 'x', media_ids: media }));
  const ids: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const { body } = await client.post('/posts', { thread, channel_ids: [channelId] });
    ids.unshift(body.post.id);
  }

  const first = await client.get('/posts?include=media');
  t.true(Buffer.byteLength(JSON.stringify(first.body)) < 12_000_000);
  t.is(first.body.posts.length, 5);
  const cursor = first.body.next_cursor;
  const second = await client.get(`/posts?include=media&cursor=${cursor}`);
  const third = await client.get(`/posts?include=media&cursor=${second.body.next_cursor}`);
  const pages = [first, second, third].flatMap(({ body }) => body.posts);
  t.deepEqual(
    pages.map((post) => post.id),
    ids,
  );
  t.is(third.body.next_cursor, null);
});

/** Calls of limited keys whose answers have 4 MB and are not read, and clients of the first and of another key. */
async function unread({ punctual, newClient }: typeof api, path: string, others = 0) {
  const client = await newClient();
  const keys: string[] = [];
  for (const name of ['Reader', 'Another']) {
    keys.push((await client.post('/keys', { name, scopes: ['posts:read'] })).body.key.key);
  }

  const [first = '', second = ''] = keys;
  const reader = clientFor(punctual.url, client.workspaceId, first);
  const altText = '𝒳'.repeat(5000);
  const files = Array.from({ length: 200 }, () =>
    storeMedia(punctual, client.workspaceId, { altText }),
  );
  const ids = await Promise.all(files);
  const part = (from: number) => ({ text: 'x', media_ids: ids.slice(from, from + 100) });
  const { id } = (await client.post('/posts', { thread: [part(0), part(100)] })).body.post;
  const params = { name: 'get_post', arguments: { post_id: id, full: true } };
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const url = punctual.url + path.replace('ID', id);
  const calls = [first, first, ...Array.from({ length: others }, () => second)].map((key) => {
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    return path === '/mcp'
      ? request(url, { method: 'POST', headers }).end(message)
      : request(url, { headers }).end();
  });
  // An error is the disconnection, which on a busy machine comes before the answer is seen.
  await Promise.all(
    calls.map(
      (call) => new Promise((resolve) => call.on('response', resolve).on('error', resolve)),
    ),
  );
  return { client, reader, id, calls };
}

for (const path of ['/api/v1/posts/ID', '/mcp']) {
  test(`clients that do not read the answers of ${path} get two at a time, while other keys are served`, async (t) => {
    const other = await api.newClient();
    const { client, reader, id, calls } = await unread(api, path);
    let isOver = false;
    const waiting = reader.get(`/posts/${id}`).finally(() => (isOver = true));
    for (let read = 0; read < 20; read += 1) {
      t.is((await other.get('/posts')).status, 200);
      t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
    }
    t.false(isOver);
    for (const call of calls) {
      call.destroy();
    }

    t.is((await waiting).status, 200);
  });

  test(`clients of several keys that do not read the answers of ${path} hold up others of their workspace for seconds only`, async (t) => {
    const { client } = await unread(api, path, 1);
    const asked = performance.now();
    t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
    t.true(performance.now() - asked < 30_000); // Then clients that read nothing are disconnected.
  });

  test(`clients that read nothing of the answers of ${path} are disconnected, and the next call is answered`, async (t) => {
    const { reader, id } = await unread(impatient, path);
    t.is((await reader.get(`/posts/${id}`)).status, 200);
  });
}

test('four calls for posts that a client sends without waiting for answers are all answered', async (t) => {
  const client = await api.newClient();
  const { id } = (await client.post('/posts', { body: 'x' })).body.post;
  const headers = `host: x\r\nauthorization: Bearer ${client.key}\r\n`;
  const json = `content-type: application/json\r\ncontent-length: 12\r\n`;
  const create = `POST /api/v1/posts HTTP/1.1\r\n${headers}${json}\r\n{"body":"y"}`;
  const read = `GET /api/v1/posts/${id} HTTP/1.1\r\n${headers}\r\n`;
  const connection = connect(Number(new URL(api.punctual.url).port), '127.0.0.1');
  t.teardown(() => connection.destroy());
  connection.write(create + read.repeat(2) + read.replace('x\r\n', 'x\r\nconnection: close\r\n'));
  const answers = Buffer.concat(await connection.toArray()).toString();
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/gv)].map(([, status]) => status);
  t.deepEqual(statuses, ['201', '200', '200', '200']);
});
