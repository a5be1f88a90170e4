import test from 'ava';
import { countQuotas } from '../../../db/quotas.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel, fakeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

type Shown = { readonly channel_id: string; readonly options: object };

/** A workspace with a channel on Mastodon, which has options, and one on LinkedIn. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const mastodon = await storeChannel(api.punctual, workspaceId);
  const account = { platform: 'linkedin', handle: 'Ana' } as const;
  const linkedin = await storeChannel(api.punctual, workspaceId, account);
  const post = { body: 'Hello', channel_ids: [mastodon, linkedin] };
  const create = async (options: object) =>
    client.post('/posts', { ...post, channel_options: options });
  const shownOf = async (id: string): Promise<object[]> =>
    (await client.get(`/posts/${id}`)).body.post.channels.map(({ options }: Shown) => options);
  return { client, mastodon, linkedin, post, create, shownOf };
}

test('a channel shows its own text, and the others show the body', async (t) => {
  const { client, mastodon } = await workspace();
  const account = { platform: 'bluesky', handle: 'b.test' } as const;
  const bluesky = await storeChannel(api.punctual, client.workspaceId, account);
  const reply = await client.post('/posts', {
    body: 'For all, '.repeat(40),
    channel_bodies: { [bluesky]: 'For Bluesky' },
    channel_ids: [mastodon, bluesky],
    schedule_in_minutes: 60,
  });
  t.is(reply.status, 201);
  t.is(reply.body.post.channels[0].body, 'For all, '.repeat(40));
  t.is(reply.body.post.channels[1].body, 'For Bluesky');

  const only = await client.post('/posts', {
    channel_bodies: { [bluesky]: 'Only here' },
    channel_ids: [bluesky],
    schedule_in_minutes: 60,
  });
  t.is(only.status, 201);
  t.like(only.body.post, { body: null, thread: null });
});

test('settings of video that no channel of the post takes are named in a warning', async (t) => {
  const { client, post, linkedin } = await workspace();
  const settings = { title: 'Tour', privacy: 'unlisted' } as const;
  const warning = { rule: 'field_ignored', path: '/video', channel_id: null };
  const created = await client.post('/posts', { ...post, video: settings });
  t.like(created.body.post.warnings, [warning]);
  t.regex(created.body.post.warning, /takes these settings of video: title, privacy\.$/v);
  const checked = await client.post('/posts/validate', { ...post, video: settings });
  t.like(checked.body.warnings, [warning]);

  const tube = { platform: 'youtube', handle: 'tube' } as const;
  const youtube = await storeChannel(api.punctual, client.workspaceId, tube);
  const path = `/posts/${created.body.post.id}`;
  const { body } = await client.patch(path, { channel_ids: [linkedin, youtube], video: settings });
  t.notRegex(body.post.warning, /takes these settings/v);

  await client.patch(`/channels/${youtube}`, { options: { privacy: 'private', category: '10' } });
  const { channels } = (await client.patch(path, {})).body.post;
  t.deepEqual(channels[1].options, { category: '10' }, 'video has the privacy');
});

test('options count towards the text quota in bytes, when added and when removed', async (t) => {
  const { client, mastodon, create } = await workspace();
  const em = api.punctual.orm.em.fork();
  const used = async () => {
    const [row] = await em
      .getConnection()
      .execute<{ used: string }[]>('select text_used::text as used from workspaces where id = ?', [
        client.workspaceId,
      ]);
    const { text_bytes: counted } = await countQuotas(em, client.workspaceId);
    t.is(Number(row?.used), counted);
    return counted;
  };
  const options = { spoiler_text: 'Ünï "quoted"\n\u0001🐦', sensitive: false, language: 'de' };
  const { id } = (await create({ [mastodon]: options })).body.post;
  t.true((await used()) > 'Hello'.length + 50);
  await client.patch(`/posts/${id}`, { channel_options: { [mastodon]: { language: 'fr' } } });
  t.is(await used(), 'Hello'.length + '{"language": "fr"}'.length);
  await client.patch(`/posts/${id}`, { channel_options: null });
  t.is(await used(), 'Hello'.length);

  await client.patch(`/channels/${mastodon}`, { options: { language: 'de' } });
  t.is(await used(), 'Hello'.length, 'a post gets the defaults at its next edit');
  await client.patch(`/posts/${id}`, {});
  t.is(await used(), 'Hello'.length + '{"language": "de"}'.length);
  await create({});
  t.is(await used(), 2 * ('Hello'.length + '{"language": "de"}'.length));
});

type Refused = readonly [title: string, options: unknown, path: string, message: RegExp];
const refused: readonly Refused[] = [
  ['an unknown option', { visibilty: 'public' }, '/visibilty', /Did you mean `visibility`/v],
  ['an unknown value', { visibility: 'secret' }, '/visibility', /one of public, unlisted/v],
  ['a value that is too long', { spoiler_text: 'x'.repeat(5001) }, '/spoiler_text', /5000 char/v],
  ['too many characters', { x: 'x'.repeat(50_001) }, '', /50000 characters of JSON/v],
];
for (const [title, options, path, message] of refused) {
  test(`${title} among the options is refused and named, by each call for posts`, async (t) => {
    const { client, mastodon, post } = await workspace();
    const { id } = (await client.post('/posts', post)).body.post;
    const given = { ...post, channel_options: { [mastodon]: options } };
    for (const { status, body } of [
      await client.post('/posts', given),
      await client.post('/posts/validate', given),
      await client.patch(`/posts/${id}`, { channel_options: given.channel_options }),
    ]) {
      t.is(status, 400, JSON.stringify(body));
      t.is(body.code, 'invalid_channel_options');
      t.is(body.details[0].path, `/channel_options/${mastodon}${path}`);
      t.regex(body.details[0].message, message);
      t.true(body.error.includes(mastodon));
    }
  });
}

/** A workspace with a channel whose option `cover` is a file, and a picture. */
async function withFileOption() {
  const client = await api.newClient();
  const { punctual } = api;
  const channel = await fakeChannel(punctual, client.workspaceId, fakeNetwork());
  const cover = await storeMedia(punctual, client.workspaceId);
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const withCover = (id: string) => ({ ...post, channel_options: { [channel]: { cover: id } } });
  return { client, channel, cover, post, withCover };
}

test('a file of an option is not one of the post’s files, and cannot be deleted while the post is scheduled', async (t) => {
  const { client, cover, withCover } = await withFileOption();
  const { post } = (await client.post('/posts', withCover(cover))).body;
  t.deepEqual(post.media, []);
  t.is((await client.delete(`/media/${cover}`)).body.code, 'media_in_use');
  await client.patch(`/posts/${post.id}`, { body: 'y' });
  t.is((await client.delete(`/media/${cover}`)).status, 409, 'after another edit');
  await client.patch(`/posts/${post.id}`, { channel_options: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
});

test('a draft whose option names a deleted file cannot be scheduled until the options are sent again', async (t) => {
  const { client, cover, withCover } = await withFileOption();
  const { id } = (await client.post('/posts', withCover(cover))).body.post;
  await client.patch(`/posts/${id}`, { scheduled_at: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
  const soon = { schedule_in_minutes: 60 };
  t.is((await client.patch(`/posts/${id}`, soon)).body.code, 'invalid_media_ids');
  t.is((await client.patch(`/posts/${id}`, { ...soon, channel_options: null })).status, 200);
});

test('an unknown file is refused and named, by each call for posts and for defaults', async (t) => {
  const { client, channel, post, withCover } = await withFileOption();
  const other = await api.newClient();
  const { id } = (await client.post('/posts', post)).body.post;
  for (const wrong of [crypto.randomUUID(), await storeMedia(api.punctual, other.workspaceId)]) {
    const given = withCover(wrong);
    const path = `/channel_options/${channel}/cover`;
    const answers = [
      [await client.post('/posts', given), path],
      [await client.post('/posts/validate', given), path],
      [await client.patch(`/posts/${id}`, { channel_options: given.channel_options }), path],
      [await client.patch(`/channels/${channel}`, { options: { cover: wrong } }), '/options/cover'],
    ] as const;
    for (const [{ status, body }, where] of answers) {
      t.is(status, 400, JSON.stringify(body));
      t.is(body.code, 'invalid_media_ids');
      t.deepEqual(body.details, [
        { path: where, message: `No media file of this workspace has the id ${wrong}.` },
      ]);
    }
  }
});

test('a file that the defaults of a channel name cannot be deleted', async (t) => {
  const { client, channel, cover } = await withFileOption();
  await client.patch(`/channels/${channel}`, { options: { cover } });
  const { status, body } = await client.delete(`/media/${cover}`);
  t.is(status, 409);
  t.true(body.error.includes(channel));
  await client.patch(`/channels/${channel}`, { options: null });
  t.is((await client.delete(`/media/${cover}`)).status, 200);
});

test('an edit replaces a field as a whole, and names what the post and its channels lose by it', async (t) => {
  const { client, mastodon, linkedin, post, shownOf } = await workspace();
  const files = ['a.png', 'b.png'].map((name) =>
    storeMedia(api.punctual, client.workspaceId, { name }),
  );
  const [file = '', other = ''] = await Promise.all(files);
  const own = {
    media_ids: [file, other],
    alt_texts: { [file]: 'A' },
    video: { title: 'T', privacy: 'private' },
    channel_bodies: { [linkedin]: 'For Ana' },
    channel_media: { [linkedin]: [{ media_id: file }] },
    channel_options: { [linkedin]: { first_comment: 'Hi' } },
  };
  const { id } = (await client.post('/posts', { ...post, ...own })).body.post;
  const edit = async (change: object) =>
    (await client.patch(`/posts/${id}`, change)).body.post.warnings;
  const kept = await edit({ body: 'New', media_ids: [file, other], video: { title: 'T' } });
  t.regex(kept[1].message, /^The edit replaced all of video, also privacy\./v);
  t.regex(kept[2].message, /^body does not apply to .* Send channel_bodies too/v);
  t.is(kept[3].path, '/media_ids');
  await edit({ video: null });
  const [replaced] = await edit({ channel_options: { [mastodon]: { sensitive: true } } });
  t.true(replaced.message.includes(`all of channel_options, also ${linkedin}.`));
  t.deepEqual(await shownOf(id), [{ sensitive: true }, {}]);
  const lost = await edit({ alt_texts: { [other]: 'B' }, channel_options: { [mastodon]: {} } });
  t.like(lost, [{ path: `/channel_options/${mastodon}` }, { path: '/alt_texts' }]);
  const [removed] = await edit({ channel_ids: [mastodon], channel_options: null });
  t.true(removed.message.endsWith('left the post, and lost its channel_bodies, channel_media.'));
  t.deepEqual([replaced.path, removed.path], ['/channel_options', '/channel_ids']);
  t.deepEqual(await edit({ channel_ids: [mastodon, linkedin] }), []);
  t.deepEqual(await edit({ channel_ids: [mastodon] }), [], 'it had nothing of its own any more');
});
