import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { fakeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

/** A workspace with a channel whose option `cover` is a file, and a picture. */
async function workspace() {
  const client = await api.newClient();
  const { punctual } = api;
  const channel = await fakeChannel(punctual, client.workspaceId, fakeNetwork());
  const cover = await storeMedia(punctual, client.workspaceId);
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const withCover = (id: string) => ({ ...post, channel_options: { [channel]: { cover: id } } });
  return { client, channel, cover, post, withCover };
}

test('a file of an option is not one of the post’s files, and cannot be deleted while the post is scheduled', async (t) => {
  const { client, cover, withCover } = await workspace();
  const { post } = (await client.post('/posts', withCover(cover))).body;
  t.deepEqual(post.media, []);
  t.is((await client.delete(`/media/${cover}`)).body.code, 'media_in_use');
  await client.patch(`/posts/${post.id}`, { body: 'y' });
  t.is((await client.delete(`/media/${cover}`)).status, 409, 'after another edit');
  await client.patch(`/posts/${post.id}`, { channel_options: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
});

test('a draft whose option names a deleted file cannot be scheduled until the options are sent again', async (t) => {
  const { client, cover, withCover } = await workspace();
  const { id } = (await client.post('/posts', withCover(cover))).body.post;
  await client.patch(`/posts/${id}`, { scheduled_at: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
  const soon = { schedule_in_minutes: 60 };
  t.is((await client.patch(`/posts/${id}`, soon)).body.code, 'invalid_media_ids');
  t.is((await client.patch(`/posts/${id}`, { ...soon, channel_options: null })).status, 200);
});

test('an unknown file is refused and named, by each call for posts and for defaults', async (t) => {
  const { client, channel, post, withCover } = await workspace();
  const other = await api.newClient();
  const { id } = (await client.post('/posts', post)).body.post;
  for (const wrong of [crypto.randomUUID(), await storeMedia(api.punctual, other.workspaceId)]) {
    const given = withCover(wrong);
    const path = `/channel_options/${channel}/cover`;
    const refused = [
      [await client.post('/posts', given), path],
      [await client.post('/posts/validate', given), path],
      [await client.patch(`/posts/${id}`, { channel_options: given.channel_options }), path],
      [await client.patch(`/channels/${channel}`, { options: { cover: wrong } }), '/options/cover'],
    ] as const;
    for (const [{ status, body }, where] of refused) {
      t.is(status, 400, JSON.stringify(body));
      t.is(body.code, 'invalid_media_ids');
      t.deepEqual(body.details, [
        { path: where, message: `No media file of this workspace has the id ${wrong}.` },
      ]);
    }
  }
});

test('a file that the defaults of a channel name cannot be deleted', async (t) => {
  const { client, channel, cover } = await workspace();
  await client.patch(`/channels/${channel}`, { options: { cover } });
  const { status, body } = await client.delete(`/media/${cover}`);
  t.is(status, 409);
  t.true(body.error.includes(channel));
  await client.patch(`/channels/${channel}`, { options: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
});
