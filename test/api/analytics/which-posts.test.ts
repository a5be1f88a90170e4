import test from 'ava';
import { daysOf } from '../../../services/analytics/selection.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';
import { fivePosts, idsOf, january, workspace } from './published-posts.ts';

const now = new Date('2027-03-31T23:59:59.999Z');
const api = sharedApi(test, { now: () => now });

const none = { impressions: null, likes: 0, comments: 0, shares: 0, saves: 0, engagement: 0 };

test('the default range is the last 30 days, today included, in UTC', (t) => {
  t.deepEqual(daysOf({}, now), { from: '2027-03-02', to: '2027-03-31' });
  t.deepEqual(daysOf({}, new Date('2027-04-01T00:00:00.000Z')), {
    from: '2027-03-03',
    to: '2027-04-01',
  });
  t.deepEqual(daysOf({ to: '2024-03-01' }, now), { from: '2024-02-01', to: '2024-03-01' });
  t.deepEqual(daysOf({ from: '2027-01-01' }, now), { from: '2027-01-01', to: '2027-03-31' });
});

test('a range includes both of its days in UTC, and has up to 366 days', async (t) => {
  const { mastodon, publish, ask, fetchAnalytics } = await workspace(api);
  const on = [{ channel: mastodon }];
  const [first, last] = [
    await publish('2026-06-01T00:00:00.000Z', on),
    await publish('2026-06-02T23:59:59.999Z', on),
  ];
  await publish('2026-05-31T23:59:59.999Z', on);
  await publish('2026-06-03T00:00:00.000Z', on);
  const days = { from: '2026-06-01', to: '2026-06-02' };
  const both = await fetchAnalytics('from=2026-06-01&to=2026-06-02');
  t.like(both, days);
  t.deepEqual(idsOf(both), [last, first]);
  t.deepEqual(idsOf(await fetchAnalytics('from=2026-06-01&to=2026-06-02&order=asc')), [
    first,
    last,
  ]);
  const one = await fetchAnalytics('from=2026-06-01&to=2026-06-01');
  t.deepEqual([idsOf(one), one.totals.posts], [[first], 1]);
  t.is((await ask('from=2025-06-01&to=2026-06-01')).status, 200);
  const tooLong = await ask('from=2025-05-31&to=2026-06-01');
  t.deepEqual([tooLong.status, tooLong.body.code], [400, 'invalid_request']);
});

test('days at both ends of the calendar are valid', async (t) => {
  const client = await api.newClient();
  for (const [from, to] of [
    ['0000-01-01', '0000-01-31'],
    ['9999-12-01', '9999-12-31'],
    ['1969-12-31', '1970-01-01'],
  ]) {
    const { status, body } = await client.get(`/analytics?from=${from}&to=${to}`);
    t.is(status, 200);
    t.like(body, { from, to, totals: { posts: 0 } });
  }

  const first = await client.get('/analytics?to=0000-01-05');
  t.like(first.body, { from: '0000-01-01', to: '0000-01-05' });
});

test('a post counts when at least one channel is published, and not before', async (t) => {
  const { client, mastodon, x, publish, fetchAnalytics } = await workspace(api);
  const partly = await publish('2027-01-05T12:00:00Z', [
    { channel: x, status: 'publishing' },
    { channel: mastodon, metrics: { likes: 1 } },
  ]);
  await publish(null, [{ channel: x, status: 'failed' }]);
  await publish(null, [{ channel: x, status: 'unconfirmed' }]);
  await client.post('/posts', { body: 'A draft' });
  const body = await fetchAnalytics(january);
  t.deepEqual(idsOf(body), [partly]);
  t.is(body.posts[0].channels.length, 1);
});

test('a post that was not published anywhere does not count', async (t) => {
  const { mastodon, publish, fetchAnalytics } = await workspace(api);
  await publish('2027-01-10T08:00:00Z', [{ channel: mastodon, status: 'failed' }]);
  await publish('2027-01-10T08:00:00Z', [{ channel: mastodon, status: 'unconfirmed' }]);
  await publish('2027-01-10T08:00:00Z', []);
  await publish(null, [{ channel: mastodon, status: 'scheduled' }]);
  const { posts, totals, has_more: hasMore } = await fetchAnalytics(january);
  t.deepEqual(
    { posts, totals, hasMore },
    { posts: [], totals: { posts: 0, posts_without_metrics: 0, ...none }, hasMore: false },
  );
});

test('a channel or a network narrows posts, their channels and all sums', async (t) => {
  const { bluesky, fetchAnalytics, names } = await fivePosts(api);
  for (const query of [`channel_id=${bluesky}`, 'platform=bluesky']) {
    t.is(await names(query), 'dba', query);
    const { posts, totals } = await fetchAnalytics(`${january}&${query}`);
    t.like(totals, { posts: 3, impressions: 50, likes: 7, comments: 0 }, query);
    t.true(
      posts.every((one: { channels: unknown[] }) => one.channels.length === 1),
      query,
    );
    t.deepEqual(posts[2].channels[0].metrics, { likes: 1 }, query);
    t.like(posts[2].totals, { impressions: null, likes: 1 }, query);
  }

  const withoutViews = await fetchAnalytics(`from=2027-01-10&to=2027-01-10&channel_id=${bluesky}`);
  t.like(withoutViews.totals, { posts: 1, impressions: null, likes: 1 });
  t.is(await names('platform=youtube'), '');
  t.is(await names(`platform=mastodon&channel_id=${bluesky}`), '');
});

test('by channel and by network a post counts at the time when it was published there', async (t) => {
  const { mastodon, bluesky, x, publish, fetchAnalytics } = await workspace(api);
  const late = { channel: bluesky, at: '2027-02-20T10:00:00Z', metrics: { likes: 2 } };
  const retried = await publish('2027-01-10T10:00:00Z', [
    { channel: mastodon, metrics: { likes: 1 } },
    late,
    { channel: x, status: 'failed' },
  ]);
  const february = 'from=2027-02-01&to=2027-02-28';
  for (const query of [`channel_id=${bluesky}`, 'platform=bluesky']) {
    t.deepEqual(idsOf(await fetchAnalytics(`${january}&${query}`)), [], query);
    const body = await fetchAnalytics(`${february}&${query}`);
    t.deepEqual(idsOf(body), [retried], query);
    t.is(body.posts[0].published_at, '2027-02-20T10:00:00.000Z', query);
    t.like(body.totals, { posts: 1, likes: 2 }, query);
  }
  for (const query of [`channel_id=${mastodon}`, 'platform=mastodon']) {
    t.deepEqual(idsOf(await fetchAnalytics(`${january}&${query}`)), [retried], query);
    t.deepEqual(idsOf(await fetchAnalytics(`${february}&${query}`)), [], query);
  }

  t.like((await fetchAnalytics(january)).totals, { posts: 1, likes: 3 });
  t.like((await fetchAnalytics(february)).totals, { posts: 0 });
  const of = await fetchAnalytics(`post_id=${retried}&channel_id=${bluesky}`);
  t.like(of, { from: '2027-02-20', to: '2027-02-20', totals: { posts: 1 } });
});

test('by network a post counts once, when its first channel there published it', async (t) => {
  const { client, mastodon, publish, fetchAnalytics } = await workspace(api);
  const other = await storeChannel(api.punctual, client.workspaceId, { handle: '@b@social.test' });
  const id = await publish('2027-01-10T10:00:00Z', [
    { channel: other, at: '2027-02-20T10:00:00Z', metrics: { likes: 2 } },
    { channel: mastodon, metrics: { likes: 1 } },
  ]);
  const first = await fetchAnalytics(`${january}&platform=mastodon`);

  t.deepEqual(idsOf(first), [id]);
  t.like(first.totals, { posts: 1, likes: 3 });
  t.is(first.posts[0].channels.length, 2);
  t.like((await fetchAnalytics('from=2027-02-01&to=2027-02-28&platform=mastodon')).totals, {
    posts: 0,
  });
  const second = await fetchAnalytics(`from=2027-02-01&to=2027-02-28&channel_id=${other}`);
  t.like(second.totals, { posts: 1, likes: 2 });
});

test('a single post is found whenever it was published, with its own day as the range', async (t) => {
  const { client, ids, fetchAnalytics } = await fivePosts(api);
  for (const dates of ['', '&from=2020-01-01&to=2020-01-02', '&from=2027-05-01&to=2027-01-01']) {
    const body = await fetchAnalytics(`post_id=${ids['a']}${dates}`);
    t.is(body.posts[0].post_id, ids['a']);
    t.like(body, { from: '2027-01-10', to: '2027-01-10', has_more: false });
    t.like(body.totals, { posts: 1, likes: 2, comments: 9, engagement: 11 });
  }

  const behind = await fetchAnalytics(`post_id=${ids['a']}&offset=1`);
  t.deepEqual([behind.posts, behind.totals.posts, behind.from], [[], 1, '2027-01-10']);
  const draft = (await client.post('/posts', { body: 'x' })).body.post.id;
  t.deepEqual(idsOf(await fetchAnalytics(`${january}&post_id=${draft}`)), []);
});

test('a post that is gone from its network says since when, and keeps its last metrics', async (t) => {
  const { client, mastodon, publish, fetchAnalytics } = await workspace(api);
  const id = await publish('2027-01-10T08:00:00Z', [{ channel: mastodon, metrics: { likes: 3 } }]);
  await api.punctual.orm.em
    .fork()
    .execute('update post_channels set gone_at = ? where post_id = ?', [
      new Date('2027-01-12T00:00:00.000Z'),
      id,
    ]);
  const { posts, totals } = await fetchAnalytics(january);
  const told = { metrics: { likes: 3 }, gone_at: '2027-01-12T00:00:00.000Z' };
  t.like(posts[0].channels[0], told);
  t.is(totals.likes, 3);

  const { post } = (await client.get(`/posts/${id}`)).body;
  t.like(post.channels[0], told);
  t.is(post.channels[0].metrics_updated_at, posts[0].channels[0].metrics_updated_at);
});
