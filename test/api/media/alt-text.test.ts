import { sharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { linkTo, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeMedia } from '../../support/seed-media.ts';
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
  t.deepEqual(post.media, [{ id, url: body.media.url, type: 'image/png', alt_text: text }]);
});

test('an empty alt text of an upload is stored as null', async (t) => {
  const client = await api.newClient();
  const bytes = await picture('png');
  const { body } = await upload(api.punctual, client, { bytes, fields: { alt_text: '' } });
  t.is(body.media.alt_text, null);
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
