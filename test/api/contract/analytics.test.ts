import test, { type ExecutionContext } from 'ava';
import { newClient, type Client, type Reply } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel, publishedPost, type PublishedOn } from '../../support/seed.ts';

type Listed = { readonly post_id: string };

const june = (day: number, time = '12:00:00.000'): string =>
  `2026-06-${String(day).padStart(2, '0')}T${time}Z`;

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const mastodon = await storeChannel(punctual, workspaceId, { handle: '@a@x.test' });
  const x = await storeChannel(punctual, workspaceId, { platform: 'x', handle: '@x' });
  const bluesky = await storeChannel(punctual, workspaceId, { platform: 'bluesky', handle: 'b' });
  const publish = (at: string, results: readonly PublishedOn[], body?: string): Promise<string> =>
    publishedPost(punctual, client, at, results, body);
  return { punctual, client, mastodon, x, bluesky, publish };
}

const ask = (client: Client, query = ''): Promise<Reply> =>
  client.get(`/analytics?from=2026-06-01&to=2026-06-30${query}`);

const idsOf = ({ body }: Reply): string[] => body.posts.map((one: Listed) => one.post_id);

const none = { likes: 0, comments: 0, shares: 0, saves: 0, engagement: 0 };

test('the default is the last 30 days by UTC, today included', async (t) => {
  const { client, mastodon, publish } = await world(t);
  const day = 86_400_000;
  const today = new Date().toISOString().slice(0, 10);
  const first = new Date(Date.parse(today) - 29 * day).toISOString();
  const made = [
    await publish(new Date().toISOString(), [{ channel: mastodon }]),
    await publish(first, [{ channel: mastodon }]),
  ];
  await publish(new Date(Date.parse(first) - 1).toISOString(), [{ channel: mastodon }]);

  const reply = await client.get('/analytics');

  t.is(reply.status, 200);
  t.like(reply.body, { from: first.slice(0, 10), to: today, has_more: false });
  t.deepEqual(idsOf(reply), made);
  t.is(reply.body.totals.posts, 2);
});

test('a range takes both of its days whole, by UTC, and up to 366 of them', async (t) => {
  const { client, mastodon, publish } = await world(t);
  const within = [
    await publish(june(2, '23:59:59.999'), [{ channel: mastodon }]),
    await publish(june(1, '00:00:00.000'), [{ channel: mastodon }]),
  ];
  await publish('2026-05-31T23:59:59.999Z', [{ channel: mastodon }]);
  await publish(june(3, '00:00:00.000'), [{ channel: mastodon }]);
  const reply = await client.get('/analytics?from=2026-06-01&to=2026-06-02');
  t.like(reply.body, { from: '2026-06-01', to: '2026-06-02' });
  t.deepEqual(idsOf(reply), within);
  t.is((await client.get('/analytics?from=2026-06-01&to=2026-06-01')).body.totals.posts, 1);
  t.is((await client.get('/analytics?from=2025-06-01&to=2026-06-01')).status, 200);
  const tooLong = await client.get('/analytics?from=2025-05-31&to=2026-06-01');
  t.deepEqual([tooLong.status, tooLong.body.code], [400, 'invalid_request']);
});

test('a post is shown with each channel that has it, its metrics, and when they were read', async (t) => {
  const { client, mastodon, x, bluesky, publish } = await world(t);
  const metrics = { impressions: 100, likes: 5, comments: 4, shares: 3, saves: 2 };
  const id = await publish(
    june(5),
    [
      { channel: x, metrics },
      { channel: mastodon, metrics: { likes: 1, comments: 1, shares: 1 } },
      { channel: bluesky, status: 'failed' },
    ],
    'Words',
  );

  const { body } = await ask(client);

  const totals = { impressions: 100, likes: 6, comments: 5, shares: 4, saves: 2, engagement: 17 };
  const at = '2026-06-01T12:00:00.000Z';
  const shown = (channel: string, platform: string, handle: string, read: object): object => ({
    channel_id: channel,
    platform,
    handle,
    url: `https://social.test/${channel}`,
    metrics: read,
    metrics_updated_at: at,
  });
  t.deepEqual(body.totals, { posts: 1, ...totals });
  t.is(body.posts.length, 1);
  t.like(body.posts[0], {
    post_id: id,
    body: 'Words',
    published_at: june(5),
    channels: [
      shown(x, 'x', '@x', metrics),
      shown(mastodon, 'mastodon', '@a@x.test', { likes: 1, comments: 1, shares: 1 }),
    ],
    totals,
  });
});

test('a post counts when at least one channel is published, and not before', async (t) => {
  const { client, mastodon, x, publish } = await world(t);
  const partly = await publish(june(5), [
    { channel: x, status: 'publishing' },
    { channel: mastodon, metrics: { likes: 1 } },
  ]);
  await publish(june(6), [{ channel: x, status: 'failed' }]);
  await publish(june(7), [{ channel: x, status: 'unconfirmed' }]);
  await client.post('/posts', { body: 'A draft' });
  const reply = await ask(client);
  t.deepEqual(idsOf(reply), [partly]);
  t.is(reply.body.posts[0].channels.length, 1);
});

test('impressions are null where no network reports views, and a sum of those that do otherwise', async (t) => {
  const { client, mastodon, bluesky, x, publish } = await world(t);
  await publish(june(5), [
    { channel: mastodon, metrics: { likes: 2 } },
    { channel: bluesky, metrics: { likes: 3 } },
  ]);
  const without = (await ask(client)).body;
  t.deepEqual(without.totals, { posts: 1, ...none, likes: 5, engagement: 5, impressions: null });
  t.is(without.posts[0].totals.impressions, null);

  await publish(june(6), [{ channel: x, metrics: { impressions: 7 } }, { channel: mastodon }]);
  const { totals, posts } = (await ask(client)).body;
  t.deepEqual(totals, { posts: 2, ...none, likes: 5, engagement: 5, impressions: 7 });
  t.is(posts[0].totals.impressions, 7);
  t.deepEqual(posts[0].channels[1].metrics_updated_at, null);
});

test('a range without posts has totals of zero and no impressions', async (t) => {
  const { client } = await world(t);
  t.deepEqual((await ask(client)).body, {
    from: '2026-06-01',
    to: '2026-06-30',
    totals: { posts: 0, impressions: null, ...none },
    posts: [],
    has_more: false,
  });
});

test('one post can be asked for whatever the dates, and one of a draft is an empty list', async (t) => {
  const { client, mastodon, publish } = await world(t);
  const id = await publish('2025-01-01T00:00:00Z', [{ channel: mastodon, metrics: { likes: 1 } }]);
  await publish(june(5), [{ channel: mastodon }]);
  const reply = await ask(client, `&post_id=${id}`);
  t.deepEqual(idsOf(reply), [id]);
  t.is(reply.body.totals.posts, 1);
  const draft = (await client.post('/posts', { body: 'x' })).body.post.id;
  t.deepEqual(idsOf(await ask(client, `&post_id=${draft}`)), []);
});

test('asked for one channel or one network, all is of that channel or network only', async (t) => {
  const { client, mastodon, x, publish } = await world(t);
  const both = await publish(june(5), [
    { channel: x, metrics: { impressions: 10, likes: 1 } },
    { channel: mastodon, metrics: { likes: 2 } },
  ]);
  const alone = await publish(june(6), [{ channel: mastodon, metrics: { likes: 4 } }]);
  for (const query of [`&channel_id=${mastodon}`, '&platform=mastodon']) {
    const reply = await ask(client, query);
    t.deepEqual(idsOf(reply), [alone, both], query);
    t.deepEqual(
      reply.body.posts.map(({ channels }: { channels: unknown[] }) => channels.length),
      [1, 1],
    );
    t.like(reply.body.totals, { posts: 2, likes: 6, impressions: null }, query);
  }

  const onX = await ask(client, '&platform=x');
  t.deepEqual(idsOf(onX), [both]);
  t.like(onX.body.totals, { posts: 1, likes: 1, impressions: 10 });
  t.deepEqual(idsOf(await ask(client, '&platform=youtube')), []);
  t.deepEqual(idsOf(await ask(client, `&platform=x&channel_id=${mastodon}`)), []);
});

test('posts are sorted by date and by every number, downwards unless told otherwise, nulls last both ways', async (t) => {
  const { client, mastodon, x, publish } = await world(t);
  const many = { impressions: 9, likes: 9, comments: 1, shares: 5, saves: 2 };
  const few = { impressions: 3, likes: 1, comments: 2, shares: 1, saves: 8 };
  const a = await publish(june(1), [{ channel: x, metrics: many }]); // Engagement 17.
  const b = await publish(june(2), [{ channel: x, metrics: few }]); // Engagement 12.
  const c = await publish(june(3), [{ channel: mastodon, metrics: { likes: 5, comments: 0 } }]);
  const downwards: Record<string, string[]> = {
    date: [c, b, a],
    likes: [a, c, b],
    comments: [b, a, c],
    shares: [a, b, c],
    saves: [b, a, c],
    engagement: [a, b, c],
  };
  for (const [sort, ids] of Object.entries(downwards)) {
    t.deepEqual(idsOf(await ask(client, `&sort=${sort}`)), ids, sort);
    t.deepEqual(idsOf(await ask(client, `&sort=${sort}&order=desc`)), ids, sort);
    t.deepEqual(idsOf(await ask(client, `&sort=${sort}&order=asc`)), ids.toReversed(), sort);
  }

  t.deepEqual(idsOf(await ask(client, '&sort=impressions')), [a, b, c]);
  t.deepEqual(idsOf(await ask(client, '&sort=impressions&order=asc')), [b, a, c]);
  t.deepEqual(idsOf(await ask(client)), [c, b, a]);
});

test('limit and offset page the list and never the totals, and has_more says whether there is more', async (t) => {
  const { client, mastodon, publish } = await world(t);
  const made: string[] = [];
  for (let day = 1; day <= 5; day += 1) {
    made.unshift(await publish(june(day), [{ channel: mastodon, metrics: { likes: day } }]));
  }

  for (const [query, ids, more] of [
    ['&limit=2', made.slice(0, 2), true],
    ['&limit=2&offset=2', made.slice(2, 4), true],
    ['&limit=2&offset=4', made.slice(4), false],
    ['&limit=5', made, false],
    ['&offset=3', made.slice(3), false],
    ['&offset=5', [], false],
    ['&offset=1000', [], false],
  ] as const) {
    const reply = await ask(client, query);
    t.deepEqual(idsOf(reply), [...ids], query);
    t.is(reply.body.has_more, more, query);
    t.like(reply.body.totals, { posts: 5, likes: 15 }, query);
  }
});

test('a list has 50 posts unless told otherwise, and posts of equal rank are seen once each', async (t) => {
  const { client, mastodon, publish } = await world(t);
  const made: string[] = [];
  for (let n = 0; n < 52; n += 1) {
    made.push(await publish(june(5), [{ channel: mastodon, metrics: { likes: 1 } }]));
  }

  const first = await ask(client, '&sort=likes');
  t.is(first.body.posts.length, 50);
  t.true(first.body.has_more);
  const rest = await ask(client, '&sort=likes&offset=50');
  t.deepEqual([...idsOf(first), ...idsOf(rest)].toSorted(), made.toSorted());
  t.is((await ask(client, '&limit=100')).body.posts.length, 52);
});
