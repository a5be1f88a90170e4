import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const file = (name: string) => storeMedia(punctual, client.workspaceId, { name });
  const names = async (id: string): Promise<string[]> => {
    const { media } = (await client.get(`/posts/${id}`)).body.post;
    return media.map(({ url }: { url: string }) => url.split('/').at(-1));
  };
  const deleteFile = (id: string) =>
    punctual.orm.em.fork().execute('update media_files set deleted_at = now() where id = ?', [id]);
  return { client, channel, file, names, deleteFile };
}

test('an edit replaces the files as a whole, leaves them when it does not speak of them, and null clears them', async (t) => {
  const { client, file, names } = await world(t);
  const [a, b, c] = [await file('a.png'), await file('b.png'), await file('c.png')];
  const { id } = (await client.post('/posts', { body: 'x', media_ids: [b, a, b] })).body.post;
  t.deepEqual(await names(id), ['b.png', 'a.png']);

  await client.patch(`/posts/${id}`, { body: 'y' });
  t.deepEqual(await names(id), ['b.png', 'a.png']);
  await client.patch(`/posts/${id}`, { media_ids: [c, b] });
  t.deepEqual(await names(id), ['c.png', 'b.png']);
  await client.patch(`/posts/${id}`, { media_ids: null });
  t.deepEqual(await names(id), []);
});

test('an edit that would leave a post without text and media is refused, and changes nothing', async (t) => {
  const { client, file, names } = await world(t);
  const { id } = (await client.post('/posts', { media_ids: [await file('a.png')] })).body.post;

  const reply = await client.patch(`/posts/${id}`, { media_ids: null });
  t.is(reply.status, 400);
  t.is(reply.body.code, 'empty_body');
  t.deepEqual(await names(id), ['a.png']);
});

test('a draft whose file was deleted says so when it is edited, and is not scheduled without it', async (t) => {
  const { client, channel, file, names, deleteFile } = await world(t);
  const [a, b] = [await file('a.png'), await file('b.png')];
  const draft = { body: 'x', channel_ids: [channel], media_ids: [a, b] };
  const { id } = (await client.post('/posts', draft)).body.post;
  await deleteFile(a);

  t.deepEqual(await names(id), ['b.png']);
  const edited = await client.patch(`/posts/${id}`, { body: 'y' });
  t.is(edited.status, 200);
  t.regex(edited.body.post.warning, /deleted: a\.png/v);
  const refused = await client.patch(`/posts/${id}`, { schedule_in_minutes: 5 });
  t.is(refused.status, 400);
  t.is(refused.body.code, 'invalid_media_ids');
  t.regex(refused.body.error, /a\.png/v);
  const scheduled = await client.patch(`/posts/${id}`, { schedule_in_minutes: 5, media_ids: [b] });
  t.like(scheduled.body.post, { status: 'scheduled', warning: null });
});

test('a network refuses at scheduling the files that it does not take, in a sentence with limit and number', async (t) => {
  const { client, channel, file } = await world(t);
  const ids = await Promise.all(['1', '2', '3', '4', '5'].map((name) => file(`${name}.png`)));
  const reply = await client.post('/posts', {
    body: 'x',
    channel_ids: [channel],
    media_ids: ids,
    schedule_in_minutes: 5,
  });
  t.is(reply.status, 400);
  t.is(reply.body.code, 'invalid_content');
  t.regex(reply.body.error, /mastodon channel .* 4 .* 5/v);
});
