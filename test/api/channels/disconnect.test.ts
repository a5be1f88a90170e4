import test from 'ava';
import { Channel } from '../../../db/entities/channels.ts';
import { sharedApi } from '../../support/kit.ts';
import { endedPost, setStatus } from '../../support/seed.ts';
import { channelsOf, twoChannels } from './two-channels.ts';

const api = sharedApi(test);
const workspace = () => twoChannels(api);

test('a disconnected account is removed from its posts, and a post without another channel becomes a draft', async (t) => {
  const { gone, stays, make, show, disconnect, told } = await workspace();
  const [both, only] = [await make([gone, stays]), await make([gone])];
  const [draftOfBoth, draft] = [await make([stays, gone], {}), await make([gone], {})];
  const elsewhere = await make([stays]);
  const before = await show(elsewhere);

  const { status, body } = await disconnect();

  t.is(status, 200);
  const channel = { id: gone, platform: 'mastodon', handle: '@gone@social.test' };
  const became_drafts = { count: 1, post_ids: [only] };
  t.deepEqual(body, { channel, removed_from: 4, became_drafts, still_sending: 0 });
  t.deepEqual(await told(), [{ channel, removed_from: 4, became_drafts }]);
  t.like(await show(both), { status: 'scheduled', warning: null });
  t.deepEqual(channelsOf(await show(both)), [stays]);
  const noLonger = await show(only);
  t.like(noLonger, { status: 'draft', scheduled_at: null, channels: [] });
  t.regex(noLonger.warning ?? '', /@gone@social\.test on mastodon was disconnected/v);
  t.deepEqual(channelsOf(await show(draftOfBoth)), [stays]);
  t.like(await show(draft), { status: 'draft', channels: [], warning: null });
  t.deepEqual(await show(elsewhere), before);
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

  const post = { body: 'x', channel_ids: [stays, gone] };
  for (const reply of [
    await client.post('/posts', post),
    await client.post('/posts/validate', post),
    await client.patch(`/posts/${draft}`, { channel_ids: [gone] }),
    await client.get(`/networks?channel_id=${gone}`),
  ]) {
    t.is(reply.status, 400);
    t.is(reply.body.code, 'invalid_channel_ids');
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
  const before = await Promise.all(posts.map(show));
  const analytics = async () =>
    (await client.get(`/analytics?channel_id=${gone}`)).body as { posts: unknown[] };
  const measured = await analytics();
  t.is(measured.posts.length, 1);

  t.like((await disconnect()).body, { removed_from: 0, became_drafts: { count: 0 } });

  t.deepEqual(await Promise.all(posts.map(show)), before);
  t.like(before[0]?.channels[0], { platform: 'mastodon', url: 'https://social.test/1' });
  t.deepEqual(await analytics(), measured);
});

test('the secrets of a disconnected account are erased, with its defaults', async (t) => {
  const { client, gone, disconnect } = await workspace();
  await client.patch(`/channels/${gone}`, { options: { visibility: 'unlisted' } });
  const em = api.punctual.orm.em.fork();
  await em.execute(`update channels set sealed_session = 'x' where id = ?`, [gone]);
  await em.execute(
    `insert into channel_grants (channel_id, workspace_id, sealed_grant, created_at) values (?, ?, 'x', now())`,
    [gone, client.workspaceId],
  );

  await disconnect();

  const channel = await em.findOneOrFail(Channel, gone, { refresh: true });
  t.like(channel, { sealedCredentials: '', sealedSession: null, options: null });
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

test('a channel that waits for a retry fails when it is disconnected, and its post is synced', async (t) => {
  const { gone, stays, make, show, disconnect } = await workspace();
  const post = await make([gone, stays]);
  await setStatus(api.punctual, post, 'publishing', ['retrying', 'published']);
  const revision = async (): Promise<number | undefined> => {
    const sql = 'select revision from posts where id = ?';
    const rows = await api.punctual.orm.em.fork().execute<{ revision: number }[]>(sql, [post]);
    return rows[0]?.revision;
  };
  const before = await revision();

  t.like((await disconnect()).body, { removed_from: 0, still_sending: 0 });

  const [channel] = (await show(post)).channels;
  t.like(channel, {
    channel_id: gone,
    status: 'failed',
    error_code: 'disconnected',
    retry_at: null,
  });
  t.is(
    channel?.error,
    'The account was disconnected. Connect the account again, then retry the post.',
  );
  t.is(await revision(), (before ?? 0) + 1);
});

test('a post that is published on all other channels is published after the last one is disconnected', async (t) => {
  const { client, gone, stays, make, show, disconnect } = await workspace();
  const post = await make([stays, gone]);
  await setStatus(api.punctual, post, 'publishing', ['published', 'scheduled']);
  await client.post(`/posts/${post}/cancel`);

  await disconnect();

  t.like(await show(post), { status: 'published', summary: { published: 1, failed: 0 } });
  t.deepEqual(channelsOf(await show(post)), [stays]);
});

test('a failed channel of a draft is removed, and the draft can be scheduled without it', async (t) => {
  const { client, gone, stays, make, disconnect } = await workspace();
  const post = await make([gone, stays]);
  await setStatus(api.punctual, post, 'publishing', ['failed', 'scheduled']);
  await client.post(`/posts/${post}/cancel`);
  await disconnect();

  const reply = await client.patch(`/posts/${post}`, { schedule_in_minutes: 60 });

  t.is(reply.status, 200, JSON.stringify(reply.body));
  t.deepEqual(channelsOf(reply.body.post), [stays]);
});

test('the texts and options that posts had for a disconnected channel no longer count towards a quota', async (t) => {
  const { client, gone, stays, make, disconnect } = await workspace();
  const em = api.punctual.orm.em.fork();
  const used = async (): Promise<number> => {
    const sql = 'select text_used::int as used from workspaces where id = ?';
    return (await em.execute<{ used: number }[]>(sql, [client.workspaceId]))[0]?.used ?? -1;
  };
  await make([gone, stays], {
    channel_bodies: { [gone]: 'twelve bytes' },
    channel_options: { [gone]: { visibility: 'unlisted', language: 'de' } },
  });
  t.true((await used()) > 30);
  await disconnect();
  t.is(await used(), 1);
});

test('thousands of scheduled posts lose a channel at once, and the response names the first hundred', async (t) => {
  const { client, gone, stays, disconnect, told } = await workspace();
  const em = api.punctual.orm.em.fork();
  const many = 4000;
  await em.execute(
    `insert into posts (id, workspace_id, body, scheduled_at, status, synced_revision, created_at, updated_at)
     select gen_random_uuid(), ?, n::text, now() + interval '1 day', 'scheduled', 1, now(), now()
     from generate_series(1, ?) n`,
    [client.workspaceId, many],
  );
  // Half of them have another channel.
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     select gen_random_uuid(), p.workspace_id, p.id, c.id, 0, 'scheduled' from posts p
     join channels c on c.id = ? or c.id = ? and p.body::int % 2 = 0 where p.workspace_id = ?`,
    [gone, stays, client.workspaceId],
  );

  const { status, body } = await disconnect();

  t.is(status, 200);
  t.like(body, { removed_from: many, became_drafts: { count: many / 2 } });
  t.is(body.became_drafts.post_ids.length, 100);
  t.deepEqual((await told())[0].became_drafts, body.became_drafts);
  const sql = `select status, synced_revision < revision as is_unsynced, count(*)::int as posts from posts
    where workspace_id = ? group by 1, 2 order by 1`;
  t.deepEqual(await em.execute(sql, [client.workspaceId]), [
    { status: 'draft', is_unsynced: true, posts: many / 2 },
    { status: 'scheduled', is_unsynced: false, posts: many / 2 },
  ]);
});
