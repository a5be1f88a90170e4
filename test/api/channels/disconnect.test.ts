import test from 'ava';
import { Channel } from '../../../db/entities/channels.ts';
import type { Platform } from '../../../networks/registry.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { endedPost, setStatus, storeChannel } from '../../support/seed.ts';
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
    const sql = 'select sum(text_used)::int as used from quota_shares where workspace_id = ?';
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

async function withChannel() {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const edit = (options: unknown) => client.patch(`/channels/${channel}`, { options });
  return { client, channel, edit };
}

test('a channel shows its defaults alone and in the list; without defaults they are an empty object', async (t) => {
  const { client, channel, edit } = await withChannel();
  const shown = async () => {
    const one = (await client.get(`/channels/${channel}`)).body.channel;
    t.deepEqual((await client.get('/channels')).body.channels, [one]);
    return one.options;
  };
  t.deepEqual(await shown(), {});
  const options = { visibility: 'unlisted', language: 'de' };
  const { status, body } = await edit(options);
  t.is(status, 200);
  t.deepEqual(body.channel.options, options);
  t.deepEqual(await shown(), options);
  await edit({ language: 'fr' });
  t.deepEqual(await shown(), { language: 'fr' }, 'replaced completely');
  t.is((await client.patch(`/channels/${channel}`, {})).status, 200);
  t.deepEqual(await shown(), { language: 'fr' });
  await edit(null);
  t.deepEqual(await shown(), {});
});

test('unknown default options are refused, with the known ones', async (t) => {
  const { client, channel, edit } = await withChannel();
  const { status, body } = await edit({ colour: 'red' });
  t.is(status, 400);
  t.is(body.code, 'invalid_channel_options');
  t.is(body.details[0].path, '/options/colour');
  t.regex(body.error, /colour is not a known field; mastodon has visibility, /v);
  t.deepEqual((await client.get(`/channels/${channel}`)).body.channel.options, {});
});

const unfit: readonly [what: string, platform: Platform, options: object, sentence: RegExp][] = [
  [
    'a title with a bracket',
    'youtube',
    { title: 'I <3 it' },
    /YouTube takes no < and no > in a title/v,
  ],
  [
    'tags that are too long together',
    'youtube',
    { tags: ['x'.repeat(250), 'y'.repeat(250)] },
    /501/v,
  ],
  [
    'a comment on a network without comments',
    'youtube',
    { privacy: 'private', first_comment: 'x' },
    /no comments under a private video/v,
  ],
  ['a blank comment', 'linkedin', { first_comment: ' ' }, /no text in the first comment/v],
  [
    'a content warning that leaves no space for a text',
    'mastodon',
    { spoiler_text: 'y'.repeat(500) },
    /spoiler_text has 500/v,
  ],
];
for (const [what, platform, options, sentence] of unfit) {
  test(`defaults that make every post invalid are refused: on ${platform} ${what}`, async (t) => {
    const client = await api.newClient();
    const channel = await storeChannel(api.punctual, client.workspaceId, { platform });
    const { status, body } = await client.patch(`/channels/${channel}`, { options });
    t.is(status, 400, JSON.stringify(body));
    t.is(body.code, 'invalid_channel_options');
    t.regex(body.error, sentence);
    t.is(body.details.length, 1);
    t.is(body.details[0].path, '/options');
    t.deepEqual((await client.get(`/channels/${channel}`)).body.channel.options, {});
  });
}

test('a thumbnail that YouTube does not accept is refused as a default', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { platform: 'youtube' });
  const edit = (thumbnail: string) =>
    client.patch(`/channels/${channel}`, { options: { thumbnail } });
  const gif = await storeMedia(api.punctual, client.workspaceId, { type: 'image/gif' });
  const { status, body } = await edit(gif);
  t.is(status, 400);
  t.regex(body.error, /it takes image\/jpeg and image\/png, and this is "image\/gif"/v);
  t.is((await edit(await storeMedia(api.punctual, client.workspaceId))).status, 200);
});

test('missing values that a post can still add are not faults of the defaults', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { platform: 'youtube' });
  for (const options of [{ privacy: 'private' }, { made_for_kids: true }, { tags: ['a', 'b'] }]) {
    t.is((await client.patch(`/channels/${channel}`, { options })).status, 200);
  }
});

test('a post is validated with the defaults of its channel, and its own options over them', async (t) => {
  const { client, channel, edit } = await withChannel();
  await edit({ spoiler_text: 'y'.repeat(100) });
  const ask = async (own: object) => {
    const post = {
      body: 'x'.repeat(450),
      channel_ids: [channel],
      channel_options: { [channel]: own },
    };
    return (await client.post('/posts/validate', post)).body.channels[0].length;
  };
  t.is(await ask({ sensitive: true }), 550);
  t.is(await ask({ spoiler_text: 'y' }), 451);
});

test('a post shows its own options, not the defaults', async (t) => {
  const { client, channel, edit } = await withChannel();
  await edit({ visibility: 'private' });
  const { post } = (await client.post('/posts', { body: 'x', channel_ids: [channel] })).body;
  t.deepEqual(post.channels[0].options, {});
});
