import test from 'ava';
import type { Platform } from '../../../networks/registry.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

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
  t.regex(body.error, /Unknown field `colour`. Known: visibility, /v);
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
    'a comment on a network without comments',
    'youtube',
    { privacy: 'private', first_comment: 'x' },
    /no comments under a private video/v,
  ],
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

test('a file that is deleted while its account is disconnected leaves the defaults', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await storeChannel(punctual, client.workspaceId, { platform: 'youtube' });
  const thumbnail = await storeMedia(punctual, client.workspaceId);
  const options = { thumbnail, privacy: 'private', tags: ['a'] };
  await client.patch(`/channels/${channel}`, { options });
  t.is((await client.delete(`/media/${thumbnail}`)).body.code, 'media_in_use');
  await client.delete(`/channels/${channel}`);
  t.is((await client.delete(`/media/${thumbnail}`)).status, 200);

  const again = 'update channels set disconnected_at = null where id = ?';
  await punctual.orm.em.fork().execute(again, [channel]);
  const shown = (await client.get(`/channels/${channel}`)).body.channel.options;
  t.deepEqual(shown, { privacy: 'private', tags: ['a'] });
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

test('a post shows the options with which it goes out: its own over the defaults', async (t) => {
  const { client, channel, edit } = await withChannel();
  await edit({ visibility: 'private', language: 'de' });
  const own = { channel_options: { [channel]: { language: 'fr' } } };
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60, ...own };
  const { id } = (await client.post('/posts', post)).body.post;
  const shown = (await client.get(`/posts/${id}`)).body.post.channels[0].options;
  t.deepEqual(shown, { visibility: 'private', language: 'fr' });
  const { data } = (await client.get('/events')).body.events[0];
  t.deepEqual(data.post.channels[0].options, shown);
  await edit({ visibility: 'unlisted' });
  const moved = (await client.patch(`/posts/${id}`, { schedule_in_minutes: 30 })).body.post;
  t.deepEqual(moved.channels[0].options, shown, 'a new time leaves the defaults');
});

test('an empty first comment leaves out that of the defaults', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { platform: 'youtube' });
  await client.patch(`/channels/${channel}`, { options: { first_comment: 'Hi' } });
  const check = async (own: object): Promise<string> => {
    const channel_options = { [channel]: { privacy: 'private', ...own } };
    const post = { body: 'x', channel_ids: [channel], channel_options };
    return JSON.stringify((await client.post('/posts/validate', post)).body);
  };
  t.regex(await check({}), /no comments under a private video/v);
  t.notRegex(await check({ first_comment: '' }), /no comments|must not be empty/v);
});
