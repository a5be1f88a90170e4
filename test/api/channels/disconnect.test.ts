import test from 'ava';
import { Channel } from '../../../db/entities/channels.ts';
import { sharedApi } from '../../support/kit.ts';
import { endedPost, setStatus } from '../../support/seed.ts';
import { sumAllMetrics } from '../../support/sum-all-metrics.ts';
import { channelsOf, twoChannels } from './two-channels.ts';

const api = sharedApi(test);
const workspace = () => twoChannels(api);

test('posts keep a disconnected channel, and the answer and the event count those that are to be sent to it', async (t) => {
  const { gone, stays, make, show, disconnect, told } = await workspace();
  const posts = [
    await make([gone, stays]),
    await make([gone]),
    await make([gone], {}),
    await make([stays]),
  ];
  const waiting = await make([gone, stays]);
  await setStatus(api.punctual, waiting, 'publishing', ['retrying', 'published']);
  const before = await Promise.all([...posts, waiting].map(show));

  const { status, body } = await disconnect();

  t.is(status, 200);
  const channel = { id: gone, platform: 'mastodon', handle: '@gone@social.test' };
  t.deepEqual(body, { channel, scheduled_posts: 3, still_sending: 0 });
  t.deepEqual(await told(), [{ channel, scheduled_posts: 3 }]);
  t.deepEqual(await Promise.all([...posts, waiting].map(show)), before);
});

test('an edit keeps a disconnected channel with a warning, unless it names the others', async (t) => {
  const { client, gone, stays, make, disconnect } = await workspace();
  const post = await make([gone, stays]);
  await disconnect();

  const kept = await client.patch(`/posts/${post}`, {
    body: 'y',
    schedule_in_minutes: 90,
    channel_options: { [gone]: { visibility: 'unlisted' } },
  });
  t.is(kept.status, 200, JSON.stringify(kept.body));
  t.deepEqual(channelsOf(kept.body.post), [gone, stays]);
  t.regex(
    kept.body.post.warning,
    /@gone@social\.test .* was disconnected.* POST \/channels\/connect/v,
  );

  const without = await client.patch(`/posts/${post}`, { channel_ids: [stays] });
  t.deepEqual(channelsOf(without.body.post), [stays]);
  t.is((await client.patch(`/posts/${post}`, { channel_ids: [stays, gone] })).status, 400);
});

test('a disconnected channel is not listed, is unknown to all calls, and cannot be chosen for a post', async (t) => {
  const { client, gone, stays, make, disconnect } = await workspace();
  const draft = await make([stays], {});
  await disconnect();

  const { channels } = (await client.get('/channels')).body;
  t.deepEqual(
    channels.map(({ id }: { id: string }) => id),
    [stays],
  );
  t.is((await client.get('/me')).body.channels, 1);
  for (const reply of [
    await disconnect(),
    await client.get(`/channels/${gone}`),
    await client.patch(`/channels/${gone}`, { options: null }),
  ]) {
    t.is(reply.status, 404);
    t.is(reply.body.code, 'not_found');
  }

  for (const call of ['reconnect', 'check']) {
    const reply = await client.post(`/channels/${gone}/${call}`, {});
    t.is(reply.status, 404);
    t.regex(reply.body.error, /was disconnected\. Connect it again: POST \/channels\/connect/v);
  }

  const post = { body: 'x', channel_ids: [stays, gone] };
  for (const reply of [
    await client.post('/posts', post),
    await client.post('/posts/validate', post),
    await client.patch(`/posts/${draft}`, { channel_ids: [gone] }),
    await client.get(`/networks?channel_id=${gone}`),
    await client.post('/channels/connect', { platform: 'mastodon', channel_id: gone }),
  ]) {
    t.is(reply.status, 400);
    t.is(reply.body.code, 'invalid_channel_ids');
    t.regex(reply.body.error, /^No connected channel .* A disconnected account gets its id back/iv);
    t.true(reply.body.error.includes(gone), 'the message names the channel');
  }
});

test('posts that have ended keep the channel, with its platform, handle and address, and so do analytics', async (t) => {
  const { client, gone, stays, show, disconnect } = await workspace();
  const ended = (status: 'published' | 'failed' | 'unconfirmed') =>
    endedPost(
      api.punctual,
      client,
      new Map([
        [gone, status],
        [stays, 'published'],
      ] as const),
    );
  const posts = [await ended('published'), await ended('failed'), await ended('unconfirmed')];
  await api.punctual.orm.em
    .fork()
    .execute(`update post_channels set published_at = now() where status = 'published'`);
  await sumAllMetrics(api.punctual.orm.em.fork(), client.workspaceId);
  const before = await Promise.all(posts.map(show));
  const analytics = async () =>
    (await client.get(`/analytics?channel_id=${gone}`)).body as { posts: unknown[] };
  const measured = await analytics();
  t.is(measured.posts.length, 1);

  t.is((await disconnect()).body.scheduled_posts, 0);

  t.deepEqual(await Promise.all(posts.map(show)), before);
  t.like(before[0]?.channels[0], { platform: 'mastodon', url: 'https://social.test/1' });
  t.deepEqual(await analytics(), measured);
});

test('the secrets of a disconnected account are erased', async (t) => {
  const { client, gone, disconnect } = await workspace();
  const em = api.punctual.orm.em.fork();
  await em.execute(`update channels set sealed_session = 'x' where id = ?`, [gone]);
  await em.execute(
    `insert into channel_grants (channel_id, workspace_id, sealed_grant, created_at) values (?, ?, 'x', now())`,
    [gone, client.workspaceId],
  );

  await disconnect();

  const channel = await em.findOneOrFail(Channel, gone, { refresh: true });
  t.like(channel, { sealedCredentials: '', sealedSession: null });
  t.deepEqual(await em.execute('select 1 from channel_grants where channel_id = ?', [gone]), []);
});

test('an older reconnect link does not restore a disconnected channel', async (t) => {
  const { client, gone, disconnect } = await workspace();
  const again = { platform: 'mastodon', channel_id: gone };
  const { link } = (await client.post('/channels/connect', again)).body;
  const page = () => fetch(`${api.punctual.url}${new URL(link).pathname}`);
  t.is((await page()).status, 200);
  await disconnect();
  t.is((await page()).status, 404);
});
