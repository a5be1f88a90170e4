import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { storePublished, type OnChannel } from './published.ts';

const range = 'from=2027-01-01&to=2027-01-31';
const nothing = { impressions: null, likes: 0, comments: 0, shares: 0, saves: 0, engagement: 0 };

/** A workspace with two channels, and posts that are published on the first of them unless said otherwise. */
async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const first = await storeChannel(punctual, workspaceId);
  const second = await storeChannel(punctual, workspaceId, {
    platform: 'bluesky',
    handle: 'b.test',
  });
  const published = (at: string | null, on: readonly OnChannel[], body?: string): Promise<string> =>
    storePublished(punctual, workspaceId, { at, on, ...(body === undefined ? {} : { body }) });
  const look = async (query: string) => (await client.get(`/analytics?${query}`)).body;
  return { punctual, client, first, second, published, look };
}

const idsOf = ({ posts }: { posts: { post_id: string }[] }): string[] =>
  posts.map(({ post_id: id }) => id);

test('a post is listed with its published channels, and everything is added up', async (t) => {
  const { first, second, published, look } = await world(t);
  const both = [
    { channelId: first, metrics: { impressions: 100, likes: 5, comments: 1 } },
    { channelId: second, metrics: { likes: 2, shares: 3, saves: 4 } },
  ];
  const id = await published('2027-01-10T08:00:00.123Z', both, 'Both.');
  const partial = await published('2027-01-11T08:00:00.000Z', [
    { channelId: first, metrics: { likes: 1 } },
    { channelId: second, status: 'failed', metrics: { likes: 1000 } },
  ]);
  const body = await look(range);
  t.deepEqual([body.from, body.to, body.has_more], ['2027-01-01', '2027-01-31', false]);
  t.deepEqual(body.totals, {
    posts: 2,
    impressions: 100,
    likes: 8,
    comments: 1,
    shares: 3,
    saves: 4,
    engagement: 16,
  });
  t.deepEqual(idsOf(body), [partial, id]);
  t.deepEqual(body.posts[1], {
    post_id: id,
    body: 'Both.',
    thread: null,
    published_at: '2027-01-10T08:00:00.123Z',
    channels: [
      {
        channel_id: first,
        platform: 'mastodon',
        handle: '@ana@social.test',
        url: 'https://social.test/0',
        metrics: { impressions: 100, likes: 5, comments: 1 },
        metrics_updated_at: '2027-01-01T12:00:00.000Z',
      },
      {
        channel_id: second,
        platform: 'bluesky',
        handle: 'b.test',
        url: 'https://social.test/1',
        metrics: { likes: 2, shares: 3, saves: 4 },
        metrics_updated_at: '2027-01-01T12:00:00.000Z',
      },
    ],
    totals: { impressions: 100, likes: 7, comments: 1, shares: 3, saves: 4, engagement: 15 },
  });
  t.deepEqual(
    body.posts[0].channels.map((one: { channel_id: string }) => one.channel_id),
    [first],
  );
});

test('views are null as long as no network reports them, and 0 when one reports none', async (t) => {
  const { first, second, published, look } = await world(t);
  await published('2027-01-10T08:00:00Z', [{ channelId: first, metrics: { likes: 1 } }]);
  const silent = await look(range);
  t.is(silent.totals.impressions, null);
  t.is(silent.posts[0].totals.impressions, null);

  await published('2027-01-11T08:00:00Z', [
    { channelId: second, metrics: { impressions: 0, likes: 1 } },
  ]);
  const body = await look(range);
  t.is(body.totals.impressions, 0);
  t.deepEqual(
    body.posts.map((one: { totals: { impressions: number | null } }) => one.totals.impressions),
    [0, null],
  );
});

test('metrics that were not read yet are empty and count as 0, and others than the five stay inside', async (t) => {
  const { first, second, published, look } = await world(t);
  await published('2027-01-10T08:00:00Z', [{ channelId: first }]);
  await published('2027-01-09T08:00:00Z', [
    { channelId: second, metrics: { likes: 3, quotes: 7 } },
  ]);
  const { posts, totals } = await look(range);
  t.like(posts[0].channels[0], { metrics: {}, metrics_updated_at: null });
  t.deepEqual(posts[0].totals, nothing);
  t.deepEqual(posts[1].channels[0].metrics, { likes: 3 });
  t.deepEqual(totals, { ...nothing, posts: 2, likes: 3, engagement: 3 });
});

test('a day begins and ends in UTC, and both ends belong to the range', async (t) => {
  const { first, published, look } = await world(t);
  const on = [{ channelId: first }];
  await published('2027-01-09T23:59:59.999Z', on);
  const [begin, end] = [
    await published('2027-01-10T00:00:00.000Z', on),
    await published('2027-01-11T23:59:59.999Z', on),
  ];
  await published('2027-01-12T00:00:00.000Z', on);
  t.deepEqual(idsOf(await look('from=2027-01-10&to=2027-01-11&order=asc')), [begin, end]);
  t.deepEqual(idsOf(await look('from=2027-01-10&to=2027-01-10')), [begin]);
});

test('what was not published anywhere does not count', async (t) => {
  const { first, published, look } = await world(t);
  await published('2027-01-10T08:00:00Z', [{ channelId: first, status: 'failed' }]);
  await published('2027-01-10T08:00:00Z', [{ channelId: first, status: 'unconfirmed' }]);
  await published('2027-01-10T08:00:00Z', []);
  await published(null, [{ channelId: first, status: 'scheduled' }]);
  const { posts, totals, has_more: hasMore } = await look(range);
  t.deepEqual(
    { posts, totals, hasMore },
    { posts: [], totals: { posts: 0, ...nothing }, hasMore: false },
  );
});

test('sums go beyond what 32 bits hold', async (t) => {
  const { first, second, published, look } = await world(t);
  const metrics = { impressions: 3_000_000_000, likes: 2_147_483_647 };
  await published('2027-01-10T08:00:00Z', [
    { channelId: first, metrics },
    { channelId: second, metrics },
  ]);
  t.like((await look(range)).totals, { impressions: 6_000_000_000, likes: 4_294_967_294 });
});
