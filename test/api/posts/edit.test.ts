import test from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/statuses.ts';
import type { Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

type Shown = { readonly channel_id: string; readonly status: string; readonly body: string };

/** A workspace with two channels on different networks, a file, and `full`: a post with all editable fields. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const a = await storeChannel(api.punctual, workspaceId, { handle: '@a@x.test' });
  const bluesky = { platform: 'bluesky', handle: 'b.test' } as const;
  const b = await storeChannel(api.punctual, workspaceId, bluesky);
  const file = (name: string) => storeMedia(api.punctual, workspaceId, { name });
  const full = {
    body: 'Body',
    thread: ['One', 'Two'],
    channel_ids: [a, b],
    channel_bodies: { [b]: 'For b' },
    media_ids: [await file('cat.png')],
    video: { title: 'Title', privacy: 'private' },
  };
  const make = async (body: object): Promise<string> =>
    (await client.post('/posts', body)).body.post.id;
  const edit = (id: string, body: object): Promise<Reply> => client.patch(`/posts/${id}`, body);
  const fileNames = async (id: string): Promise<string[]> => {
    const { media } = (await client.get(`/posts/${id}`)).body.post;
    return media.map(({ url }: { url: string }) => url.split('/').at(-1));
  };
  return { client, a, b, full, make, edit, file, fileNames };
}

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** The status and due time after an edit, and the times around the call, in milliseconds. */
async function timed(edit: () => Promise<Reply>) {
  const sentAt = Date.now();
  const { status, scheduled_at: at } = (await edit()).body.post;
  return { status, sentAt, due: Date.parse(at), answeredAt: Date.now() };
}

/** A post without the fields that every edit changes. */
const settled = ({ updated_at: _, channels, ...post }: Record<string, unknown>) => ({
  ...post,
  warning: null,
  warnings: [],
  channels: (channels as object[]).map((channel) => Object.assign({}, channel, { warning: null })),
});

test('an edit of one field does not change the others', async (t) => {
  const { a, full, make, edit, client } = await workspace();
  const edits: [object, object][] = [
    [{}, {}],
    [{ body: 'New' }, { body: 'New' }],
    [{ video: { made_for_kids: false } }, { video: { made_for_kids: false } }],
    [{ media_ids: [] }, { media: [], thread_media: [[], []] }],
  ];
  for (const [change, expected] of edits) {
    const id = await make(full);
    const before = (await client.get(`/posts/${id}`)).body.post;
    const { status, body } = await edit(id, change);
    t.is(status, 200);
    t.deepEqual(settled(body.post), settled({ ...before, ...expected }), JSON.stringify(change));
    t.deepEqual((await client.get(`/posts/${id}`)).body, body);
  }

  const id = await make(full);
  const { post } = (await edit(id, { thread: ['Three'] })).body;
  t.like(post, { body: 'Body', thread: ['Three'], video: full.video });
  t.is(post.channels.find((one: Shown) => one.channel_id === a).body, 'Three');
});

test('a sent field replaces the stored one completely, without merging', async (t) => {
  const { a, b, full, make, edit } = await workspace();
  const id = await make(full);
  const change = { thread: ['Only'], channel_bodies: { [a]: 'For a' }, video: { title: 'Other' } };
  const { post } = (await edit(id, change)).body;
  t.like(post, { thread: ['Only'], video: { title: 'Other' } });
  t.deepEqual(post.video, { title: 'Other' });
  const texts = post.channels.map((one: Shown) => [one.channel_id, one.body]);
  t.deepEqual(texts, [
    [a, 'For a'],
    [b, 'Only'],
  ]);
});

test('null clears thread, channel_bodies, media_ids and video', async (t) => {
  const { full, make, edit } = await workspace();
  const id = await make(full);
  const change = { thread: null, channel_bodies: null, media_ids: null, video: null };
  const { status, body } = await edit(id, change);
  t.is(status, 200);
  t.like(body.post, { body: 'Body', thread: null, media: [], video: null });
  t.is(body.post.channels.map((one: Shown) => one.body).join(), 'Body,Body');
});

test('new channels replace the old ones, in the given order', async (t) => {
  const { a, b, make, edit } = await workspace();
  const id = await make({ body: 'x', channel_ids: [a] });
  const shown = async (ids: string[]): Promise<string[]> =>
    (await edit(id, { channel_ids: ids })).body.post.channels.map((one: Shown) => one.channel_id);
  t.deepEqual(await shown([b, a]), [b, a]);
  t.deepEqual(await shown([b, b]), [b]);
  t.deepEqual(await shown([]), []);
});

test('a draft that is given a time is scheduled, and a scheduled post moves to another', async (t) => {
  const { a, make, edit } = await workspace();
  const id = await make({ body: 'x', channel_ids: [a] });
  const at = inAnHour();
  const first = (await edit(id, { scheduled_at: at })).body.post;
  t.like(first, { status: 'scheduled', scheduled_at: at });
  t.is(first.channels[0].status, 'scheduled');

  const again = { scheduled_at: '2099-01-01T00:00:00Z', schedule_in_minutes: 90 };
  const moved = await timed(() => edit(id, again));
  t.regex((await edit(id, again)).body.post.warning, /schedule_in_minutes decided/v);
  const minutes = 90 * 60_000;
  t.true(moved.due >= moved.sentAt + minutes && moved.due <= moved.answeredAt + minutes);
  const past = { scheduled_at: new Date(Date.now() - 60_000).toISOString() };
  const now = await timed(() => edit(id, past));
  t.true(now.due >= now.sentAt && now.due <= now.answeredAt, 'a minute ago is now');
});

test('a time of null turns a scheduled post into a draft', async (t) => {
  const { a, make, edit } = await workspace();
  const id = await make({ body: 'x', channel_ids: [a], schedule_in_minutes: 60 });
  const { post } = (await edit(id, { scheduled_at: null })).body;
  t.like(post, { status: 'draft', scheduled_at: null });
  t.is(post.channels[0].status, 'draft');
  t.is((await edit(id, { scheduled_at: null })).status, 200);
});

test('a post that is being published or has ended cannot be edited', async (t) => {
  const { client, a, make, edit } = await workspace();
  const states: [PostStatus, ChannelStatus][] = [
    ['publishing', 'publishing'],
    ['publishing', 'retrying'],
    ['published', 'published'],
    ['failed', 'failed'],
    ['failed', 'unconfirmed'],
  ];
  for (const [status, channel] of states) {
    const id = await make({ body: 'x', channel_ids: [a], schedule_in_minutes: 60 });
    await setStatus(api.punctual, id, status, [channel]);
    const before = (await client.get(`/posts/${id}`)).body;
    for (const change of [{ body: 'y' }, { scheduled_at: null }, {}]) {
      const reply = await edit(id, change);
      t.like(reply, { status: 409, body: { code: 'post_not_editable' } }, channel);
      t.regex(reply.body.error, status === 'publishing' ? /cancel makes/v : /copy|settle/v);
    }

    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a draft may be edited to content that a network refuses, and a scheduled post may not', async (t) => {
  const { b, make, edit, client } = await workspace();
  const draft = await make({ body: 'x', channel_ids: [b] });
  const long = { body: 'x'.repeat(301) };
  const warned = await edit(draft, long);
  t.is(warned.status, 200);
  t.regex(warned.body.post.warning, /300.*301/v);
  const refused = await edit(draft, { schedule_in_minutes: 5 });
  t.is(refused.body.code, 'invalid_content');
  t.is(refused.body.error, warned.body.post.warning);
  t.is((await edit(draft, { body: 'short' })).body.post.warning, null);

  const scheduled = await make({ body: 'x', channel_ids: [b], schedule_in_minutes: 60 });
  const before = (await client.get(`/posts/${scheduled}`)).body;
  t.is((await edit(scheduled, long)).body.code, 'invalid_content');
  t.is((await edit(scheduled, { channel_ids: [] })).body.code, 'no_channels');
  t.deepEqual((await client.get(`/posts/${scheduled}`)).body, before);
  t.is((await edit(scheduled, { ...long, scheduled_at: null })).status, 200);
});

test('an edit that leaves an empty post is refused and changes nothing', async (t) => {
  const { a, file, make, edit, client } = await workspace();
  const only = [
    [await make({ media_ids: [await file('a.png')] }), { media_ids: null }],
    [await make({ thread: ['x'], channel_ids: [a] }), { thread: null }],
    [await make({ channel_bodies: { [a]: 'x' }, channel_ids: [a] }), { channel_bodies: null }],
    [await make({ channel_bodies: { [a]: 'x' }, channel_ids: [a] }), { channel_bodies: {} }],
  ] as const;
  for (const [id, change] of only) {
    const before = (await client.get(`/posts/${id}`)).body;
    const reply = await edit(id, change);
    t.is(reply.status, 400, JSON.stringify(change));
    t.is(reply.body.code, 'empty_body', JSON.stringify(change));
    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a text must be for a channel that the post has after the edit', async (t) => {
  const { a, b, make, edit } = await workspace();
  const id = await make({ body: 'x', channel_ids: [a] });
  const stray = await edit(id, { channel_bodies: { [b]: 'y' } });
  t.is(stray.body.code, 'invalid_channel_ids');
  t.true(stray.body.error.includes(b));
  t.is((await edit(id, { channel_ids: [b], channel_bodies: { [b]: 'y' } })).status, 200);
  t.is(
    (await edit(id, { channel_ids: [b], channel_bodies: { [a]: 'y' } })).body.code,
    'invalid_channel_ids',
  );
});

test('a draft with a deleted file gets a warning when it is edited, and cannot be scheduled', async (t) => {
  const { client, a: channel, file, fileNames } = await workspace();
  const [a, b] = [await file('a.png'), await file('b.png')];
  const draft = { body: 'x', channel_ids: [channel], media_ids: [a, b] };
  const { id } = (await client.post('/posts', draft)).body.post;
  const sql = 'update media_files set deleted_at = now() where id = ?';
  await api.punctual.orm.em.fork().execute(sql, [a]);

  t.deepEqual(await fileNames(id), ['b.png']);
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

test('an unconfirmed channel takes an edit, and stays unconfirmed when the draft is scheduled again', async (t) => {
  const { a, b, make, edit } = await workspace();
  const id = await make({ body: 'x', channel_ids: [a, b] });
  await setStatus(api.punctual, id, 'draft', ['unconfirmed', 'draft']);
  const { post } = (await edit(id, { schedule_in_minutes: 5, channel_bodies: { [a]: 'Own' } }))
    .body;
  t.like(post, { channels: [{ status: 'unconfirmed', body: 'Own' }, { status: 'scheduled' }] });
});
