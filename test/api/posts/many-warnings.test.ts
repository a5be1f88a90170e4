import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

test('a draft with thousands of faults stores some of each channel, and says that there are more', async (t) => {
  const client = await api.newClient();
  const settings = { maxCharacters: 1 };
  const channels = Array.from({ length: 8 }, () =>
    storeChannel(api.punctual, client.workspaceId, { settings }),
  );
  const draft = {
    thread: Array.from({ length: 25 }, () => 'long'),
    channel_ids: await Promise.all(channels),
  };
  const { body: validated } = await client.post('/posts/validate', draft);
  t.is(validated.channels[7].errors.length, 25);
  const { status, body } = await client.post('/posts', draft);
  t.is(status, 201);
  const { warning, warnings } = body.post;
  t.is(warnings.length, 100);
  const more = 'More problems are not listed here: POST /api/v1/posts/validate lists more.';
  t.like(warnings[19], { channel_id: draft.channel_ids[0], message: more });
  t.like(warnings[99], { channel_id: null, message: more });
  t.true(warning.endsWith(more));
  t.true(warning.length < 20_000, `${warning.length}`);
});

test('a thread of 2,500 files of types that a server with 200 long types refuses has an answer of a few kilobytes for each channel', async (t) => {
  const client = await api.newClient();
  const mediaTypes = Array.from({ length: 200 }, (_none, n) => `image/x${n}`.padEnd(100, 'x'));
  const settings = { mediaTypes, maxMediaAttachments: 2500 };
  const channelId = await storeChannel(api.punctual, client.workspaceId, { settings });
  const files = Array.from({ length: 100 }, () => storeMedia(api.punctual, client.workspaceId));
  const mediaIds = await Promise.all(files);
  const thread = Array.from({ length: 25 }, () => ({ text: 'p', media_ids: mediaIds }));
  const post = { thread, channel_ids: [channelId] };
  const { body } = await client.post('/posts/validate', post);
  const { errors } = body.channels[0];
  t.is(errors.length, 100);
  t.is(errors[99].message, 'More problems are not listed here: correct these first.');
  t.true(JSON.stringify(body).length < 100_000, `${JSON.stringify(body).length}`);
  const { status } = await client.post('/posts', { ...post, schedule_in_minutes: 60 });
  t.is(status, 400);
});
