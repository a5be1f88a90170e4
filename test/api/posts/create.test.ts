import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

/** A workspace with a channel on each of two networks. */
async function workspace() {
  const client = await api.newClient();
  const { punctual } = api;
  const mastodon = await storeChannel(punctual, client.workspaceId);
  const account = { platform: 'bluesky', handle: 'b.test' } as const;
  const bluesky = await storeChannel(punctual, client.workspaceId, account);
  return { client, mastodon, bluesky };
}

test('a post without a time is a draft, and the response is the whole post', async (t) => {
  const { client, mastodon, bluesky } = await workspace();
  const before = Date.now();
  const reply = await client.post('/posts', { body: 'Hello', channel_ids: [bluesky, mastodon] });

  t.is(reply.status, 201);
  const { id, created_at: createdAt, ...post } = reply.body.post;
  t.is(reply.headers.get('location'), `/api/v1/posts/${id}`);
  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v);
  t.regex(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/v);
  t.true(Date.parse(createdAt) >= before && Date.parse(createdAt) <= Date.now());
  const channel = (channelId: string, platform: string, handle: string): object => ({
    channel_id: channelId,
    status: 'draft',
    platform,
    handle,
    url: null,
    error: null,
    error_code: null,
    retryable: null,
    warning: null,
    retry_at: null,
    body: 'Hello',
    metrics: null,
    metrics_updated_at: null,
    gone_at: null,
    unpublish: null,
    options: {},
  });
  t.deepEqual(post, {
    status: 'draft',
    outcome: null,
    body: 'Hello',
    thread: null,
    scheduled_at: null,
    timezone: null,
    published_at: null,
    updated_at: createdAt,
    channels: [
      channel(bluesky, 'bluesky', 'b.test'),
      channel(mastodon, 'mastodon', '@ana@social.test'),
    ],
    summary: { published: 0, failed: 0, pending: 2, removed: 0 },
    media: [],
    channel_media: {},
    thread_media: null,
    video: null,
    warning: null,
    warnings: [],
    tags: [],
    metadata: {},
    external_id: null,
  });
});

test('GET returns a scheduled post as POST did', async (t) => {
  const { client, mastodon } = await workspace();
  const at = new Date(Date.now() + 3_600_000);
  const created = await client.post('/posts', {
    body: 'Later',
    channel_ids: [mastodon],
    scheduled_at: at.toISOString(),
  });

  t.is(created.status, 201);
  t.like(created.body.post, { status: 'scheduled', scheduled_at: at.toISOString() });
  t.is(created.body.post.channels[0].status, 'scheduled');
  const read = await client.get(`/posts/${created.body.post.id}`);
  t.is(read.status, 200);
  t.deepEqual(read.body, created.body);
});

test('a channel that needs reconnecting gives a warning, for a draft and for a scheduled post', async (t) => {
  const { client, mastodon } = await workspace();
  await api.punctual.orm.em
    .fork()
    .execute(`update channels set state = 'needs_reconnect' where id = ?`, [mastodon]);
  for (const time of [{}, { schedule_in_minutes: 60 }]) {
    const reply = await client.post('/posts', { body: 'x', channel_ids: [mastodon], ...time });
    t.is(reply.status, 201);
    t.regex(reply.body.post.warning, /@ana@social\.test.*needs reconnecting/v);
  }
});

const at = '2026-05-01T10:00:00.250Z';

/** A channel's row, and what GET shows of it. */
const results = [
  {
    channel: { platform: 'mastodon', handle: '@a@social.test' },
    row: `status = 'published', url = 'https://social.test/1', metrics = '{"likes": 2}'`,
    shown: { status: 'published', url: 'https://social.test/1', metrics: { likes: 2 } },
  },
  {
    channel: { platform: 'bluesky', handle: 'b.test' },
    row: `status = 'failed', error = 'No.', error_code = 'content_refused'`,
    shown: { status: 'failed', error: 'No.', error_code: 'content_refused', retryable: false },
  },
  {
    channel: { platform: 'mastodon', handle: '@c@social.test' },
    row: `status = 'unconfirmed', error = 'Maybe.', warning = 'Joined.'`,
    shown: { status: 'unconfirmed', error: 'Maybe.', warning: 'Joined.' },
  },
  {
    channel: { platform: 'mastodon', handle: '@d@social.test' },
    // It may be retried by its owner only when it has ended.
    row: `status = 'retrying', error_code = 'paced', retry_at = '${at}'`,
    shown: { status: 'retrying', error_code: 'paced', retryable: false, retry_at: at },
  },
] as const;

const nothing = {
  url: null,
  error: null,
  error_code: null,
  retryable: null,
  warning: null,
  retry_at: null,
  body: 'x',
  metrics: null,
  metrics_updated_at: null,
  gone_at: null,
  unpublish: null,
  options: {},
};

test('a partly failed post shows the result of each channel', async (t) => {
  const client = await api.newClient();
  const ids: string[] = [];
  for (const { channel } of results) {
    ids.push(await storeChannel(api.punctual, client.workspaceId, channel));
  }

  const { body } = await client.post('/posts', { body: 'x', channel_ids: ids });
  const { id } = body.post;
  const em = api.punctual.orm.em.fork();
  const times = `scheduled_at = '${at}', published_at = '${at}'`;
  await em.execute(`update posts set status = 'publishing', ${times} where id = ?`, [id]);
  for (const [index, { row }] of results.entries()) {
    await em.execute(`update post_channels set ${row} where channel_id = ?`, [ids[index]]);
  }

  const { post } = (await client.get(`/posts/${id}`)).body;
  t.like(post, { status: 'publishing', scheduled_at: at, published_at: at });
  t.deepEqual(post.summary, { published: 1, failed: 2, pending: 1, removed: 0 });
  const expected = results.map(({ channel, shown }, index) =>
    Object.assign({ channel_id: ids[index] }, nothing, channel, shown),
  );
  t.deepEqual(post.channels, expected);
});

type Case = {
  readonly title: string;
  readonly post: { readonly body?: string; readonly thread?: readonly string[] };
  readonly listed: object;
};

const cases: readonly Case[] = [
  {
    title: 'a body of 10,001 characters is cut between two of them',
    post: { body: `${'🙂'.repeat(10_000)}!` },
    listed: { body: '🙂'.repeat(10_000), thread: null, body_truncated: true },
  },
  {
    title: 'a thread is cut after 10,000 characters, and keeps all of its parts',
    post: { thread: ['a'.repeat(6000), 'b'.repeat(6000), 'c'] },
    listed: { body: null, thread: ['a'.repeat(6000), 'b'.repeat(4000), ''], body_truncated: true },
  },
];

for (const { title, post, listed } of cases) {
  test(`in the list of posts ${title}; the post itself has the full text`, async (t) => {
    const client = await api.newClient();
    const { id } = (await client.post('/posts', post)).body.post;

    t.like((await client.get('/posts')).body.posts, [{ id, ...listed }]);
    t.like((await client.get(`/posts/${id}`)).body.post, { body: null, thread: null, ...post });
  });
}
