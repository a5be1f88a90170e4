import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { idsOf, january, workspace } from './published-posts.ts';

const api = sharedApi(test);

const nothing = { impressions: null, likes: 0, comments: 0, shares: 0, saves: 0, engagement: 0 };
const unread = Object.fromEntries(Object.keys(nothing).map((name) => [name, null]));

test('a post is listed with its published channels, with the sums of their metrics', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  const both = [
    { channel: mastodon, metrics: { impressions: 100, likes: 5, comments: 1 } },
    { channel: bluesky, metrics: { likes: 2, shares: 3, saves: 4 } },
  ];
  const id = await publish('2027-01-10T08:00:00.123Z', both, 'Both.');
  const partial = await publish('2027-01-11T08:00:00.000Z', [
    { channel: mastodon, metrics: { likes: 1 } },
    { channel: bluesky, status: 'failed', metrics: { likes: 1000 } },
  ]);
  const body = await fetchAnalytics(january);
  t.deepEqual([body.from, body.to, body.has_more], ['2027-01-01', '2027-01-31', false]);
  t.deepEqual(body.totals, {
    posts: 2,
    posts_without_metrics: 0,
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
    body_truncated: false,
    published_at: '2027-01-10T08:00:00.123Z',
    channels: [
      {
        channel_id: mastodon,
        platform: 'mastodon',
        handle: '@ana@social.test',
        url: 'https://social.test/0',
        metrics: { impressions: 100, likes: 5, comments: 1 },
        metrics_updated_at: '2027-01-01T12:00:00.000Z',
        gone_at: null,
      },
      {
        channel_id: bluesky,
        platform: 'bluesky',
        handle: 'b.test',
        url: 'https://social.test/1',
        metrics: { likes: 2, shares: 3, saves: 4 },
        metrics_updated_at: '2027-01-01T12:00:00.000Z',
        gone_at: null,
      },
    ],
    totals: { impressions: 100, likes: 7, comments: 1, shares: 3, saves: 4, engagement: 15 },
  });
  t.deepEqual(
    body.posts[0].channels.map((one: { channel_id: string }) => one.channel_id),
    [mastodon],
  );
});

test('metrics and sums that were not read yet are null and their post is counted; metrics outside the contract are not shown', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  await publish('2027-01-10T08:00:00Z', [{ channel: mastodon }]);
  await publish('2027-01-09T08:00:00Z', [{ channel: bluesky, metrics: { likes: 3, quotes: 7 } }]);
  const { posts, totals } = await fetchAnalytics(january);
  t.like(posts[0].channels[0], { metrics: null, metrics_updated_at: null });
  t.deepEqual(posts[0].totals, unread);
  t.deepEqual(posts[1].channels[0].metrics, { likes: 3 });
  t.deepEqual(totals, { ...nothing, posts: 2, posts_without_metrics: 1, likes: 3, engagement: 3 });
  const { totals: ofMastodon } = await fetchAnalytics(`${january}&platform=mastodon`);
  t.deepEqual(ofMastodon, { posts: 1, posts_without_metrics: 1, ...unread });
});

test('a list has 50 posts by default, and posts of equal rank are listed once each', async (t) => {
  const { mastodon, publish, fetchAnalytics } = await workspace(api);
  const made: string[] = [];
  for (let n = 0; n < 52; n += 1) {
    made.push(
      await publish('2027-01-05T12:00:00Z', [{ channel: mastodon, metrics: { likes: 1 } }]),
    );
  }

  const first = await fetchAnalytics(`${january}&sort=likes`);
  t.is(first.posts.length, 50);
  t.true(first.has_more);
  const rest = await fetchAnalytics(`${january}&sort=likes&offset=50`);
  t.deepEqual([...idsOf(first), ...idsOf(rest)].toSorted(), made.toSorted());
  t.is((await fetchAnalytics(`${january}&limit=100`)).posts.length, 52);
});
