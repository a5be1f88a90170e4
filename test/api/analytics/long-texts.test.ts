import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { january, workspace } from './published-posts.ts';

const api = sharedApi(test);

test('analytics of a hundred long threads on many channels are two megabytes at most', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  const channels = [{ channel: mastodon }, { channel: bluesky }];
  const thread = Array.from({ length: 6 }, (_, n) => `${n}`.repeat(50_000));
  for (let made = 0; made < 100; made += 1) {
    const id = await publish('2027-01-10T08:00:00.000Z', channels);
    const sql = 'update posts set body = null, thread = ?::jsonb where id = ?';
    await api.punctual.orm.em.fork().execute(sql, [JSON.stringify(thread), id]);
  }

  const body = await fetchAnalytics(`${january}&limit=100`);
  t.is(body.posts?.length, 100, JSON.stringify(body).slice(0, 300));
  t.true(JSON.stringify(body).length < 2_100_000, String(JSON.stringify(body).length));
  const [post] = body.posts;
  t.true(post.body_truncated);
  t.deepEqual(post.thread, ['0'.repeat(10_000), '', '', '', '', '']);
  t.is(post.channels.length, 2);
});
