import { sumAllMetrics } from '../../support/sum-all-metrics.ts';
import test from 'ava';
import { loadAnalytics } from '../../../services/analytics/load-analytics.ts';
import { newId } from '../../../db/new-id.ts';
import { newClient } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { startApi } from '../../support/punctual.ts';
import { planOf, watched } from '../../support/query-plan.ts';
import { storeChannel } from '../../support/seed.ts';
import { fivePosts, idsOf, january, workspace } from './published-posts.ts';

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

test('impressions are null if no network reports views, and otherwise the sum over those that do', async (t) => {
  const { mastodon, bluesky, x, publish, fetchAnalytics } = await workspace(api);
  await publish('2027-01-05T12:00:00Z', [
    { channel: mastodon, metrics: { likes: 2 } },
    { channel: bluesky, metrics: { likes: 3 } },
  ]);
  const without = await fetchAnalytics(january);
  const all = { ...nothing, posts_without_metrics: 0 };
  t.deepEqual(without.totals, { ...all, posts: 1, likes: 5, engagement: 5 });
  t.is(without.posts[0].totals.impressions, null);

  await publish('2027-01-06T12:00:00Z', [
    { channel: x, metrics: { impressions: 7 } },
    { channel: mastodon },
  ]);
  const { totals, posts } = await fetchAnalytics(january);
  t.deepEqual(totals, {
    ...nothing,
    posts: 2,
    posts_without_metrics: 1,
    likes: 5,
    engagement: 5,
    impressions: 7,
  });
  t.is(posts[0].totals.impressions, 7);
  t.like(posts[0].channels[1], { metrics: null, metrics_updated_at: null });
});

test('metrics and sums that were not read yet are null and their post is counted; metrics outside the contract are not shown', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  await publish('2027-01-10T08:00:00Z', [{ channel: mastodon }]);
  await publish('2027-01-09T08:00:00Z', [{ channel: bluesky, metrics: { likes: 3, quotes: 7 } }]);
  const { posts, totals } = await fetchAnalytics(january);
  t.like(posts[0].channels[0], { metrics: null, metrics_updated_at: null });
  t.deepEqual(posts[0].totals, unread);
  t.deepEqual(posts[1].channels[0].metrics, { likes: 3 });
  t.deepEqual(totals, {
    ...nothing,
    posts: 2,
    posts_without_metrics: 1,
    likes: 3,
    engagement: 3,
  });
  const { totals: ofMastodon } = await fetchAnalytics(`${january}&platform=mastodon`);
  t.deepEqual(ofMastodon, { posts: 1, posts_without_metrics: 1, ...unread });
});

test('sums may exceed 32 bits', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  const metrics = { impressions: 3_000_000_000, likes: 2_147_483_647 };
  await publish('2027-01-10T08:00:00Z', [
    { channel: mastodon, metrics },
    { channel: bluesky, metrics },
  ]);
  t.like((await fetchAnalytics(january)).totals, {
    impressions: 6_000_000_000,
    likes: 4_294_967_294,
  });
});

test('posts come newest first or by a sum, and posts without the metric come last both ways', async (t) => {
  const { names } = await fivePosts(api);
  const orders: [string, string][] = [
    ['', 'edcba'],
    ['order=asc', 'abcde'],
    ['sort=date&order=desc', 'edcba'],
    ['sort=impressions', 'bdaec'],
    ['sort=impressions&order=asc', 'adbec'],
    ['sort=likes', 'dbcae'],
    ['sort=likes&order=asc', 'cadbe'],
    ['sort=comments', 'adcbe'],
    ['sort=shares', 'bdcae'],
    ['sort=saves', 'cdbae'],
    ['sort=engagement', 'acbde'],
    ['sort=engagement&order=asc', 'dbcae'],
  ];
  for (const [query, expected] of orders) {
    t.is(await names(query), expected, query);
  }
});

test('limit and offset page the list, never the totals, and has_more reports further posts', async (t) => {
  const { fetchAnalytics, namesOf } = await fivePosts(api);
  const { totals } = await fetchAnalytics(january);
  t.is(totals.posts, 5);
  const pages: [string, string, boolean][] = [
    ['limit=2', 'ed', true],
    ['limit=2&offset=2', 'cb', true],
    ['limit=2&offset=4', 'a', false],
    ['limit=5', 'edcba', false],
    ['limit=4', 'edcb', true],
    ['offset=3', 'ba', false],
    ['offset=5', '', false],
    ['offset=1000', '', false],
    ['offset=2147483647', '', false],
  ];
  for (const [query, expected, more] of pages) {
    const body = await fetchAnalytics(`${january}&${query}`);
    t.is(namesOf(body), expected, query);
    t.is(body.has_more, more, query);
    t.deepEqual(body.totals, totals, query);
  }
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

const dayMs = 24 * 60 * 60 * 1000;

test('a month of a large workspace is read from indexes, without a sequential scan', async (t) => {
  // Its own database: statistics and plans depend on whole tables.
  const punctual = await startApi(t);
  const em = punctual.orm.em.fork();
  const begin = Date.parse('2026-01-01T00:00:00Z');
  const { workspaceId } = await newClient(punctual);
  const channelId = await storeChannel(punctual, workspaceId);
  // 11 years of posts, five a day.
  await em.execute(
    `insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', 'published', to_timestamp(?) - n * interval '5 hours', now(), now()
     from generate_series(1, 20_000) n`,
    [workspaceId, begin / 1000],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, metrics, published_at)
     select gen_random_uuid(), workspace_id, id, ?, 0, 'published',
       jsonb_build_object('likes', row_number() over ()), published_at
     from posts`,
    [channelId],
  );
  await sumAllMetrics(em, workspaceId);
  await em.execute('vacuum analyze posts, post_channels, channels, post_metrics');

  const selection = { workspaceId, sort: 'date', order: 'desc', limit: 50, offset: 0 } as const;
  const published = { begin: begin - 30 * dayMs, end: begin };
  const plansOf = async (asked: object): Promise<string[]> => {
    const { em: seen, queries } = watched(punctual.orm.em.fork());
    await loadAnalytics(seen, { ...selection, published, ...asked });
    const ofPosts = queries.filter((query) => query.sql.includes('post_metrics'));
    return Promise.all(ofPosts.map((query) => planOf(punctual.orm, query)));
  };
  const [page = '', totals = '', ...others] = await plansOf({});
  t.regex(page, /post_metrics_published/v);
  t.regex(totals, /Index Only Scan using post_metrics_published/v);
  t.is(others.length, 0);
  const always = { published: { begin: 0, end: begin } };
  const [most = ''] = await plansOf({ ...always, sort: 'engagement', order: 'desc' });
  t.regex(most, /Index Scan using post_metrics_engagement/v);
  const [row] = await em.execute<{ id: string }[]>('select id from posts limit 1');
  const plans = [
    page,
    totals,
    ...(await plansOf({ sort: 'engagement' })),
    ...(await plansOf({ channelId, platform: 'mastodon' })),
    ...(await plansOf({ channelId })),
    ...(await plansOf({ platform: 'mastodon' })),
    ...(await plansOf({ published: { postId: row?.id ?? newId() } })),
  ];
  for (const plan of plans) {
    t.notRegex(plan, /Seq Scan on (?:posts|post_channels|post_metrics)/v, plan);
  }
});
