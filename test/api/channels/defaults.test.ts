import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

async function workspace() {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const edit = (options: unknown) => client.patch(`/channels/${channel}`, { options });
  return { client, channel, edit };
}

test('a channel shows its defaults by itself and in the list, and none are an empty object', async (t) => {
  const { client, channel, edit } = await workspace();
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
  t.deepEqual(await shown(), { language: 'fr' }, 'they are replaced as a whole');
  t.is((await client.patch(`/channels/${channel}`, {})).status, 200);
  t.deepEqual(await shown(), { language: 'fr' });
  await edit(null);
  t.deepEqual(await shown(), {});
});

test('defaults that the network does not have are refused, with those that it has', async (t) => {
  const { client, channel, edit } = await workspace();
  const { status, body } = await edit({ colour: 'red' });
  t.is(status, 400);
  t.is(body.code, 'invalid_channel_options');
  t.is(body.details[0].path, '/options/colour');
  t.regex(body.error, /colour is not a known field; mastodon has visibility, /v);
  t.deepEqual((await client.get(`/channels/${channel}`)).body.channel.options, {});
});

test('a post is validated with the defaults of its channel, and its own options over them', async (t) => {
  const { client, channel, edit } = await workspace();
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
  const { client, channel, edit } = await workspace();
  await edit({ visibility: 'private' });
  const { post } = (await client.post('/posts', { body: 'x', channel_ids: [channel] })).body;
  t.deepEqual(post.channels[0].options, {});
});
