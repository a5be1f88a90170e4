import test from 'ava';
import { platforms, type Platform } from '../../../networks/registry.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';

const api = sharedApi(test);

/** A workspace with a channel on every network, a video and an image. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channels = {} as Record<Platform, string>;
  for (const platform of platforms) {
    const handle = `@${platform}.test`;
    channels[platform] = await storeChannel(api.punctual, workspaceId, { platform, handle });
  }

  const clip = { name: 'a.mp4', type: 'video/mp4', sizeBytes: 1_000_000, durationMs: 10_000 };
  const video = await storeMedia(api.punctual, workspaceId, clip);
  return { client, channels, video, image: await storeMedia(api.punctual, workspaceId) };
}

/** By network: the maximum length of an ASCII text, by the network's counting. */
const limits: readonly (readonly [Platform, number])[] = [
  ['x', 280],
  ['linkedin', 3000],
  ['bluesky', 300],
  ['mastodon', 500],
  ['youtube', 5000],
];

for (const [platform, limit] of limits) {
  test(`a text of ${limit} is scheduled for ${platform}, and one more is refused with channel, rule, limit and actual value`, async (t) => {
    const { client, channels, video } = await workspace();
    const id = channels[platform];
    const extra =
      platform === 'youtube'
        ? { media_ids: [video], video: { title: 'x', made_for_kids: false } }
        : {};
    const send = (length: number, time: object) =>
      client.post('/posts', { body: 'x'.repeat(length), channel_ids: [id], ...extra, ...time });
    const soon = { schedule_in_minutes: 60 };

    const fits = await send(limit, soon);
    t.is(fits.status, 201, JSON.stringify(fits.body));
    t.is(fits.body.post.warning, null);
    const refused = await send(limit + 1, soon);
    t.is(refused.status, 400);
    t.is(refused.body.code, 'invalid_content');
    for (const part of [platform, id, `@${platform}.test`, limit, limit + 1]) {
      t.true(refused.body.error.includes(String(part)), `${part}: ${refused.body.error}`);
    }

    const draft = await send(limit + 1, {});
    t.is(draft.status, 201);
    t.is(draft.body.post.warning, refused.body.error);
  });
}

test('the video network requires made_for_kids, but a draft does not', async (t) => {
  const { client, channels, video } = await workspace();
  const post = { body: 'x', channel_ids: [channels.youtube], media_ids: [video] };
  const soon = { schedule_in_minutes: 60 };
  const refused = await client.post('/posts', { ...post, ...soon, video: { title: 'x' } });
  t.is(refused.body.code, 'invalid_content');
  t.regex(refused.body.error, /made_for_kids/v);
  t.regex((await client.post('/posts', post)).body.post.warning, /made_for_kids/v);
  for (const kids of [true, false]) {
    const told = { ...post, ...soon, video: { title: 'x', made_for_kids: kids } };
    t.is((await client.post('/posts', told)).status, 201);
  }

  // No other network requires it.
  const elsewhere = { ...post, ...soon, channel_ids: [channels.mastodon] };
  t.is((await client.post('/posts', elsewhere)).status, 201);
});

test('a network without threads gets the texts as one post, with a warning on its channel', async (t) => {
  const { client, channels } = await workspace();
  const thread = ['First part', 'Second part'];
  const ids = [channels.linkedin, channels.mastodon, channels.x, channels.bluesky];
  const reply = await client.post('/posts', { thread, channel_ids: ids, schedule_in_minutes: 60 });
  t.is(reply.status, 201);
  const [linkedin, mastodon, x, bluesky] = reply.body.post.channels;
  t.regex(linkedin.warning, /thread/v);
  t.is(linkedin.body, thread.join('\n\n'));
  t.deepEqual([mastodon.warning, bluesky.warning], [null, null]);
  t.is(x.warning, null);

  t.is(reply.body.post.warning, null);
});

test('text may be left out or empty beside media: of a post, of a part and of a channel', async (t) => {
  const { client, channels, image } = await workspace();
  const bare = { media_ids: [image], channel_ids: [channels.mastodon], schedule_in_minutes: 60 };
  const reply = await client.post('/posts', bare);
  t.is(reply.status, 201);
  t.like(reply.body.post, { body: null, thread: null });
  t.is(reply.body.post.media[0].type, 'image/png');
  const own = { channel_bodies: { [channels.mastodon]: '' } };
  const ownFile = { channel_media: { [channels.mastodon]: [{ media_id: image }] } };
  const noFile = { ...bare, media_ids: [] };
  const taken = [
    { ...bare, body: '' },
    { ...bare, body: 'x', ...own },
    { ...noFile, body: 'x', ...own, ...ownFile },
    { ...bare, thread: ['', 'Two'] },
    { ...noFile, thread: ['One', { text: ' ', media_ids: [image] }] },
    { ...noFile, thread: ['One', { media_ids: [image] }] },
    { ...noFile, thread: ['One', { media: [{ media_id: image }] }, 'Three'] },
  ];
  for (const body of taken) {
    const made = await client.post('/posts', body);
    t.is(made.status, 201, JSON.stringify(made.body));
    t.true((await client.post('/posts/validate', body)).body.valid);
    const copied = await client.post(`/posts/${made.body.post.id}/copy`);
    t.is(copied.status, 201, JSON.stringify(copied.body));
    const gone = { media_ids: null, channel_media: null, thread: made.body.post.thread };
    t.is((await client.patch(`/posts/${made.body.post.id}`, gone)).body.code, 'empty_body');
  }

  const refused = [
    { ...noFile, body: 'x', ...own },
    { ...bare, body: 'x', ...own, channel_media: { [channels.mastodon]: [] } },
    { ...bare, thread: ['One', ''] },
    { ...noFile, body: '' },
    noFile,
  ];
  for (const body of refused) {
    t.is((await client.post('/posts', body)).body.code, 'empty_body', JSON.stringify(body));
    t.is((await client.post('/posts/validate', body)).body.code, 'empty_body');
  }
});

test('validation reports the errors of scheduling for each channel, and stores nothing', async (t) => {
  const { client, channels } = await workspace();
  const ids = Object.values(channels);
  const before = await storedRows(api.punctual.orm, client.workspaceId);
  const post = { body: 'x'.repeat(400), channel_ids: ids };
  const reply = await client.post('/posts/validate', post);
  t.is(reply.status, 200);
  type Said = { errors: { message: string; rule: string }[]; length: number; limit: number };
  const shown = new Map<string, Said>(
    reply.body.channels.map((one: { platform: string }) => [one.platform, one]),
  );
  for (const [platform, limit] of limits) {
    const validated = shown.get(platform);
    t.is(validated?.length, 400, platform);
    t.is(validated?.limit, limit, platform);
    const tooLong = validated?.errors.some(({ rule }) => rule === 'text_length');
    t.is(tooLong, limit < 400, platform);
  }

  t.false(reply.body.valid);
  t.deepEqual(await storedRows(api.punctual.orm, client.workspaceId), before);
  const { error } = (await client.post('/posts', { ...post, schedule_in_minutes: 60 })).body;
  for (const { errors } of shown.values()) {
    t.true(
      errors.every(({ message }) => error.includes(message)),
      error,
    );
  }
});

test('validation warns as a draft does, and needs no plan', async (t) => {
  const { client, channels } = await workspace();
  const { em } = api.punctual.orm;
  const withoutPlan = 'update workspaces set plan = null where id = ?';
  await em.fork().execute(withoutPlan, [client.workspaceId]);
  const ask = async (body: object) => (await client.post('/posts/validate', body)).body;
  const fine = await ask({ body: 'x', channel_ids: [channels.mastodon] });
  t.true(fine.valid);
  t.deepEqual([fine.channels[0].errors, fine.channels[0].warnings], [[], []]);
  const joined = await ask({ thread: ['a', 'b'], channel_ids: [channels.linkedin] });
  t.true(joined.valid);
  t.regex(joined.channels[0].warnings[0].message, /thread/v);
  const sql = `update channels set state = 'needs_reconnect' where id = ?`;
  await em.fork().execute(sql, [channels.x]);
  const lost = await ask({ body: 'x', channel_ids: [channels.x] });
  t.regex(lost.channels[0].warnings[0].message, /reconnect/v);
});

test('a refusal of content names channel, field, rule, limit and actual value', async (t) => {
  const { client, channels } = await workspace();
  const { x, mastodon, youtube } = channels;
  const post = {
    thread: ['One', 'x'.repeat(281)],
    channel_ids: [x, mastodon, youtube],
    channel_bodies: { [mastodon]: 'x'.repeat(501) },
  };
  const onX = { path: '/thread/1', rule: 'text_length', limit: 280, actual: 281 };
  const onMastodon = {
    path: `/channel_bodies/${mastodon}`,
    rule: 'text_length',
    limit: 500,
    actual: 501,
  };
  const { channels: validated } = (await client.post('/posts/validate', post)).body;
  t.like(validated[0].errors, [onX]);
  t.like(validated[1].errors, [onMastodon]);
  t.like(validated[2].errors, [
    { path: '/media_ids', rule: 'file_count', limit: null, actual: 0 },
    { path: '/video/made_for_kids', rule: 'field_missing' },
  ]);
  const { body } = await client.post('/posts', { ...post, schedule_in_minutes: 60 });
  t.is(body.code, 'invalid_content');
  t.like(body.details, [
    { channel_id: x, ...onX },
    { channel_id: mastodon, ...onMastodon },
    { channel_id: youtube, path: '/media_ids', rule: 'file_count', actual: 0 },
    { channel_id: youtube, path: '/video/made_for_kids', rule: 'field_missing' },
  ]);
  t.true(body.error.includes(body.details[0].message));
});

test('the price of X is a field of the validation, not a warning', async (t) => {
  const { client, channels } = await workspace();
  const ask = async (body: object) => (await client.post('/posts/validate', body)).body;
  const two = { channel_ids: [channels.x, channels.mastodon] };
  const { channels: validated, warning } = await ask({ body: 'See example.com', ...two });
  t.is(warning, null);
  t.deepEqual(
    validated.map((one: { price_usd: number }) => one.price_usd),
    [0.2, 0],
  );
  t.deepEqual([validated[0].warnings, validated[1].warnings], [[], []]);
  const refused = await ask({ body: 'x'.repeat(501), ...two });
  t.is(refused.channels[0].price_usd, null);
  const times = { scheduled_at: '2020-01-01T00:00:00Z', schedule_in_minutes: 5 };
  const late = await ask({ body: 'x', ...two, ...times });
  t.regex(late.warning, /schedule_in_minutes decided/v);
  t.like(late.warnings, [{ path: '/scheduled_at', rule: 'field_ignored' }]);
});
