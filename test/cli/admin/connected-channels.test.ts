import test from 'ava';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { fakeNetworks } from '../../support/networks.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { adminOf } from './admin.ts';

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

const punctual = beforeTests(test, (scope) => startApi(scope));

test('a post is shown with all warnings of its channels, each on one line', async (t) => {
  const client = await newClient(punctual());
  const channel = await storeChannel(punctual(), client.workspaceId);
  const post = { body: 'x', channel_ids: [channel] };
  const { id } = (await client.post('/posts', post)).body.post;
  await punctual()
    .orm.em.fork()
    .execute(
      `update post_channels set warning = 'Long.', sent_warning = 'Cut\u0007.' where post_id = ?`,
      [id],
    );

  const { text } = await adminOf(punctual()).call('post', 'show', id);
  t.true(text.includes('  Warning: Long.\n  Warning: Cut .\n'), text);
});
