import { sharedApi } from '../../support/kit.ts';
import { noTemporal } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeChannel } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { statementsOf } from '../../support/sent-statements.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

/** A file, and channels on X (alt texts of up to 1000 characters) and on Mastodon (up to 1500). */
async function library() {
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
  const { client, file, x, mastodon, describe, create } = await library();
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
  const { client, file, x, describe, create } = await library();
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
  const { x, describe, create } = await library();
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
  const { client, file, x, describe, create } = await library();
  const replies = await Promise.all([
    ...Array.from({ length: 10 }, () => create(x)),
    describe(1001),
    ...Array.from({ length: 10 }, () => create(x)),
  ]);
  const length = (await client.get(`/media/${file}`)).body.media.alt_text?.length ?? 0;
  const made = replies.filter((reply) => typeof reply === 'string').length;
  t.true(length === 0 || made === 0, `${made} posts wait with an alt text of ${length}`);
});
