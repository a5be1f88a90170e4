import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

test('a draft with thousands of faults stores some of each channel, and a refusal lists some; both say that there are more', async (t) => {
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

  const refused = await client.post('/posts', { ...draft, schedule_in_minutes: 5 });
  const rest = 'More problems are not listed here: correct these first.';
  t.is(refused.body.details.length, 20);
  t.deepEqual(refused.body.details[19], { path: '', message: rest });
});

test('files of types that a server with 200 long types refuses have a short answer, and a post has 200 files', async (t) => {
  const client = await api.newClient();
  const mediaTypes = Array.from({ length: 200 }, (_none, n) => `image/x${n}`.padEnd(100, 'x'));
  const settings = { mediaTypes, maxMediaAttachments: 2500 };
  const channelId = await storeChannel(api.punctual, client.workspaceId, { settings });
  const files = Array.from({ length: 9 }, () => storeMedia(api.punctual, client.workspaceId));
  const ids = await Promise.all(files);
  const postOf = (mediaIds: readonly string[]) => ({
    thread: Array.from({ length: 25 }, () => ({ text: 'p', media_ids: mediaIds })),
    channel_ids: [channelId],
  });
  const { body } = await client.post('/posts/validate', postOf(ids.slice(0, 8)));
  const { errors } = body.channels[0];
  t.is(errors.length, 100);
  t.is(errors[99].message, 'More problems are not listed here: correct these first.');
  t.true(JSON.stringify(body).length < 100_000, `${JSON.stringify(body).length}`);

  const { status, body: refused } = await client.post('/posts', postOf(ids));
  t.is(status, 400);
  t.is(refused.error, 'A post may have 200 files in all its parts and channels; these are 225.');
});
