import type { Platform } from '../../../networks/registry.ts';
import { inputFile } from '../../support/input-file.ts';
import { sharedApi } from '../../support/kit.ts';
import { picture, longGif } from '../../support/media-files.ts';
import { linkTo, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { statementsOf } from '../../support/sent-statements.ts';
import { limited } from '../quotas/limited.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

async function library() {
  const client = await api.newClient();
  return { client, id: await storeMedia(api.punctual, client.workspaceId) };
}

test('a file keeps the alt text of its upload, and posts use it', async (t) => {
  const client = await api.newClient();
  const bytes = await picture('png');
  const text = 'A cat, asleep. 🐈';
  const { status, body } = await upload(api.punctual, client, {
    bytes,
    fields: { alt_text: text },
  });
  t.is(status, 201);
  const { id } = body.media;
  t.is(body.media.alt_text, text);
  t.deepEqual((await client.get(`/media/${id}`)).body, body);
  t.is((await client.get('/media')).body.media[0].alt_text, text);
  const { post } = (await client.post('/posts', { body: 'x', media_ids: [id] })).body;
  const { url } = body.media;
  t.deepEqual(post.media, [{ id, media_id: id, url, type: 'image/png', alt_text: text }]);
});

test('an edit of a file changes what is sent and nothing else', async (t) => {
  const { client, id } = await library();
  const edit = async (body: object) => {
    const reply = await client.patch(`/media/${id}`, body);
    t.is(reply.status, 200);
    t.deepEqual((await client.get(`/media/${id}`)).body, reply.body);
    const { name, alt_text: altText } = reply.body.media;
    return { name, altText };
  };
  t.deepEqual(await edit({ alt_text: 'A cat' }), { name: 'cat.png', altText: 'A cat' });
  t.deepEqual(await edit({ name: 'dir/tom.png' }), { name: 'tom.png', altText: 'A cat' });
  t.deepEqual(await edit({}), { name: 'tom.png', altText: 'A cat' });
  t.deepEqual(await edit({ alt_text: null }), { name: 'tom.png', altText: null });
});

test('the link of a file keeps working under its old name', async (t) => {
  const client = await api.newClient();
  const { punctual } = api;
  const { media } = (await upload(punctual, client, { bytes: await picture('png') })).body;
  await client.patch(`/media/${media.id}`, { name: 'other.png' });
  const { url } = (await client.get(`/media/${media.id}`)).body.media;
  t.true(url.endsWith('/other.png'));
  t.is((await fetch(linkTo(punctual, media.url))).status, 200);
  t.is((await fetch(linkTo(punctual, url))).status, 200);
});

test('a post without its own alt text uses the library’s current one', async (t) => {
  const { client, id } = await library();
  const own = { media_ids: [id], alt_texts: { [id]: 'Its own' } };
  const posts = [
    { body: 'x', media_ids: [id] },
    { body: 'y', ...own },
  ];
  const ids = await Promise.all(
    posts.map(async (post) => (await client.post('/posts', post)).body.post.id),
  );
  await client.patch(`/media/${id}`, { alt_text: 'Of the library' });
  const shown = await Promise.all(
    ids.map(async (one) => (await client.get(`/posts/${one}`)).body.post.media[0].alt_text),
  );
  t.deepEqual(shown, ['Of the library', 'Its own']);
});

test('an alt text counts in the bytes of the library, and a shorter one is never refused', async (t) => {
  const { client } = await limited(api.punctual, { media_bytes: 1100 });
  const id = await storeMedia(api.punctual, client.workspaceId, { sizeBytes: 1000 });
  const edit = (altText: string | null) => client.patch(`/media/${id}`, { alt_text: altText });
  t.is((await edit('é'.repeat(50))).status, 200);
  const { status, body } = await edit('x'.repeat(101));
  t.is(status, 402);
  t.like(body.details[0], { quota: 'media_bytes', limit: 1100, used: 1100 });
  t.is((await edit('x'.repeat(99))).status, 200);
  await storeMedia(api.punctual, client.workspaceId, { sizeBytes: 1000 });
  t.is((await edit('x'.repeat(98))).status, 200, 'although the quota is exceeded');
});

/** A file, and channels on X (alt texts of up to 1000 characters) and on Mastodon (up to 1500). */
async function libraryWithChannels() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const file = await storeMedia(api.punctual, workspaceId);
  const x = await storeChannel(api.punctual, workspaceId, { platform: 'x' });
  const mastodon = await storeChannel(api.punctual, workspaceId, { platform: 'mastodon' });
  const describe = (length: number) =>
    client.patch(`/media/${file}`, { alt_text: 'x'.repeat(length) });
  const create = async (channel: string, more: object = {}) => {
    const post = { body: 'x', channel_ids: [channel], media_ids: [file], ...more };
    return (await client.post('/posts', { schedule_in_minutes: 60, ...post })).body.post?.id;
  };
  return { client, file, x, mastodon, describe, create };
}

test('an alt text that is invalid for a waiting post is refused, and the posts are named', async (t) => {
  const { client, file, x, mastodon, describe, create } = await libraryWithChannels();
  const onX = await create(x);
  const onMastodon = await create(mastodon);
  t.is((await describe(1000)).status, 200);

  const { status, body } = await describe(1001);
  t.is(status, 400, JSON.stringify(body));
  t.is(body.code, 'invalid_content');
  t.regex(body.error, /X: an image may have one of up to 1,000 characters, and this has 1,001/v);
  t.deepEqual(
    body.details.map(({ path }: { path: string }) => path),
    ['/alt_text'],
  );
  t.true(body.error.includes(onX));
  t.false(body.error.includes(onMastodon));
  t.is((await client.get(`/media/${file}`)).body.media.alt_text.length, 1000);

  const both = (await describe(1501)).body;
  t.is(both.details.length, 2);
  t.true(both.error.includes(onX) && both.error.includes(onMastodon));
});

test('posts that do not wait, and posts with their own alt text, do not matter', async (t) => {
  const { client, file, x, describe, create } = await libraryWithChannels();
  await create(x, { schedule_in_minutes: undefined });
  await create(x, { alt_texts: { [file]: 'Its own' } });
  const later = await create(x);
  await client.post(`/posts/${later}/cancel`);
  const other = await api.newClient();
  const theirs = await storeChannel(api.punctual, other.workspaceId, { platform: 'x' });
  await other.post('/posts', { body: 'x', channel_ids: [theirs], schedule_in_minutes: 60 });
  t.is((await describe(1200)).status, 200);
  t.is(
    (await client.patch(`/posts/${later}`, { schedule_in_minutes: 60 })).body.code,
    'invalid_content',
  );
});

test.serial('of many posts a few are named and the rest counted, by one statement', async (t) => {
  const { x, describe, create } = await libraryWithChannels();
  for (let n = 0; n < 8; n += 1) {
    await create(x);
  }

  let error = '';
  const sent = await statementsOf(async () => {
    ({ error } = (await describe(1001)).body);
  });
  t.is(sent.filter(({ text }) => text.includes('post_')).length, 1);
  t.regex(error, /8 posts wait with it: [\-0-9a-f]{36}(?:, [\-0-9a-f]{36}){4} and 3 more/v);
});

test('a post that is scheduled during the edit of an alt text is validated with it, or the edit counts the post', async (t) => {
  const { client, file, x, describe, create } = await libraryWithChannels();
  const replies = await Promise.all([
    ...Array.from({ length: 10 }, () => create(x)),
    describe(1001),
    ...Array.from({ length: 10 }, () => create(x)),
  ]);
  const length = (await client.get(`/media/${file}`)).body.media.alt_text?.length ?? 0;
  const made = replies.filter((reply) => typeof reply === 'string').length;
  t.true(length === 0 || made === 0, `${made} posts wait with an alt text of ${length}`);
});

/** The validation of a post with this file, without the warning about the price of X. */
async function validated(platform: Platform, bytes: Uint8Array, fileName: string) {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { platform });
  const { body } = await upload(api.punctual, client, { bytes, fileName });
  const post = { channel_ids: [channel], body: 'Look', media_ids: [body.media.id] };
  const [said] = (await client.post('/posts/validate', post)).body.channels;
  return JSON.stringify([said.errors, said.warnings]);
}

const refused: readonly [platform: Platform, name: string, make: () => unknown, words: RegExp][] = [
  ['x', '240 fps.mp4', () => inputFile('frame-rate-240.mp4'), /too many frames per second for X/v],
  ['linkedin', '251 frames.gif', () => longGif(251), /too many frames for LinkedIn/v],
  [
    'bluesky',
    'moving.webp',
    () => inputFile('webp-animated.webp'),
    /\[\[\],\[\{"message":"Bluesky shows/v,
  ],
];
for (const [platform, name, make, words] of refused) {
  test(`${platform} and ${name}: validation reports the limit of the network`, async (t) => {
    t.regex(await validated(platform, (await make()) as Buffer, name), words);
  });
}
