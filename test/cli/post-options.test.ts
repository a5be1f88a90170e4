import test from 'ava';
import { newClient } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { startApi } from '../support/punctual.ts';
import { storeChannel } from '../support/seed.ts';
import { adminOf } from './admin.ts';

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

test('a post whose channels have no options is shown without them', async (t) => {
  const client = await newClient(punctual());
  const channel = await storeChannel(punctual(), client.workspaceId);
  const { id } = (await client.post('/posts', { body: 'x', channel_ids: [channel] })).body.post;
  const { text } = await adminOf(punctual()).call('post', 'show', id);
  t.notRegex(text, /Options|defaults|Warning/v);
});
