import test from 'ava';
import { daysOf } from '../../../services/analytics/selection.ts';
import { sharedApi } from '../../support/kit.ts';
import { fivePosts, idsOf, january, workspace } from './published-posts.ts';

const now = new Date('2027-03-31T23:59:59.999Z');
const api = sharedApi(test, { now: () => now });

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
