import test from 'ava';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { fakeNetworks } from '../../support/networks.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { adminOf, areRefused } from './admin.ts';

// `channel list` and `channel remove`.

const shared = beforeTests(test, (scope) => startApi(scope, { networks: fakeNetworks }));

test('an operator disconnects an account, and its channel is listed as disconnected', async (t) => {
  const client = await newClient(shared());
  const { workspaceId } = client;
  const channel = await storeChannel(shared(), workspaceId, { handle: '@ana@social.test' });
  const stays = await storeChannel(shared(), workspaceId, { handle: '@ben@social.test' });
  const { call } = adminOf(shared());
  const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const post: string = (await client.post('/posts', request)).body.post.id;

  const { text, data } = await call('channel', 'remove', channel);

  t.like(data, { workspace_id: workspaceId, scheduled_posts: 1, still_sending: 0 });
  t.regex(text, /@ana@social\.test on mastodon\) is disconnected, and its secrets are erased/v);
  t.regex(text, /fail there at their time, unless the account is connected again: 1\./v);
  t.is((await client.get(`/posts/${post}`)).body.post.status, 'scheduled');

  const listed = await call('channel', 'list', workspaceId);
  const states = listed.data.channels.map((one: { id: string; state: string }) => [
    one.id,
    one.state,
  ]);
  t.deepEqual(states, [
    [channel, 'disconnected'],
    [stays, 'connected'],
  ]);
  t.regex(
    listed.text,
    /^\S+ +mastodon +@ana@social\.test +https:\/\/social\.test +disconnected$/mv,
  );
});

test('an operator sees when an account has to be connected again, as the owner does', async (t) => {
  const client = await newClient(shared());
  const { workspaceId } = client;
  const channel = await storeChannel(shared(), workspaceId, { handle: '@ana@social.test' });
  await shared()
    .orm.em.fork()
    .execute(
      `insert into channel_grants (channel_id, workspace_id, sealed_grant, ends_at, created_at)
        values (?, ?, 'x', now() + interval '3 days', now())`,
      [channel, workspaceId],
    );
  const [seen] = (await client.get('/channels')).body.channels;

  const { data } = await adminOf(shared()).call('channel', 'list', workspaceId);

  t.is(seen.state, 'at_risk');
  t.like(data.channels[0], { state: 'at_risk', expires_at: seen.expires_at });

  // Revoked before its end: the old end is no longer shown.
  const lose = `update channels set state = 'needs_reconnect' where id = ?`;
  await shared().orm.em.fork().execute(lose, [channel]);
  const lost = { state: 'needs_reconnect', expires_at: null };
  t.like((await client.get('/channels')).body.channels[0], lost);
  t.like((await adminOf(shared()).call('channel', 'list', workspaceId)).data.channels[0], lost);
});

test('an unknown or disconnected account cannot be disconnected', async (t) => {
  const { workspaceId } = await newClient(shared());
  const channel = await storeChannel(shared(), workspaceId);
  const admin = adminOf(shared());
  await admin.call('channel', 'remove', channel);
  const reason = /There is no connected channel/v;
  await areRefused(t, admin, [
    [['channel', 'remove', channel], 'AppError', reason],
    [['channel', 'remove', crypto.randomUUID()], 'AppError', reason],
    [['channel', 'remove', 'x'], 'AppError', reason],
  ]);
  t.is((await admin.call('channel', 'list', workspaceId)).data.channels.length, 1);
});

const punctual = beforeTests(test, (scope) => startApi(scope));

test('a post is shown with the options of its channels, their defaults and all warnings, each on one line', async (t) => {
  const client = await newClient(punctual());
  const channel = await storeChannel(punctual(), client.workspaceId);
  const language = { language: 'de' };
  await client.patch(`/channels/${channel}`, { options: language });
  const options = { visibility: 'unlisted', spoiler_text: `\u202eBirds\n${'x'.repeat(100)}` };
  const post = { body: 'x', channel_ids: [channel], channel_options: { [channel]: options } };
  const { id } = (await client.post('/posts', post)).body.post;
  await punctual()
    .orm.em.fork()
    .execute(
      `update post_channels set warning = 'Long.', sent_warning = 'Cut\u0007.' where post_id = ?`,
      [id],
    );

  const { text, data } = await adminOf(punctual()).call('post', 'show', id);
  const shown = { visibility: 'unlisted', spoiler_text: `Birds ${'x'.repeat(74)}…` };
  t.true(text.includes(`  Options: ${JSON.stringify(shown)}\n`), text);
  t.true(text.includes(`  The account's defaults: {"language":"de"}\n`), text);
  t.true(text.includes('  Warning: Long.\n  Warning: Cut .\n'), text);
  t.like(data.channels[0], { options: shown, default_options: language });
});

test('a post is shown with a rate limit that holds or made it late, and without one of before its time', async (t) => {
  const client = await newClient(punctual());
  const channel = await storeChannel(punctual(), client.workspaceId);
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
  const { id } = (await client.post('/posts', post)).body.post;
  const shown = async (until: string): Promise<string> => {
    const em = punctual().orm.em.fork();
    await em.execute(`update channels set parked_until = ${until} where id = ?`, [channel]);
    return (await adminOf(punctual()).call('post', 'show', id)).text;
  };

  t.regex(await shown("now() + interval '1 hour'"), /A rate limit holds the account or its/v);
  t.regex(await shown('now()'), /A rate limit held the account or its server until/v);
  t.notRegex(await shown("now() - interval '1 hour'"), /rate limit/v);
});
