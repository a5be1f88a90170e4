import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';

const api = sharedApi(test);

const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();

async function workspace() {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const account = { platform: 'bluesky', handle: 'b.test' } as const;
  const other = await storeChannel(api.punctual, client.workspaceId, account);
  const create = async (body: object, at: number | null, channels = [channel]) => {
    const time = at === null ? {} : { scheduled_at: hours(at) };
    return (await client.post('/posts', { channel_ids: channels, ...body, ...time })).body.post;
  };
  return { client, channel, other, create };
}

type Post = {
  readonly id: string;
  readonly channels: readonly { readonly channel_id: string; readonly warning: string | null }[];
  readonly warnings: readonly {
    readonly channel_id: string;
    readonly message: string;
    readonly rule: string;
  }[];
};
/** The warning of the channel, if the list of the post has the same. */
const warningOf = ({ channels: [channel], warnings }: Post) => {
  const listed = warnings.filter(
    ({ channel_id: id, rule }) => id === channel?.channel_id && rule === 'same_text',
  );
  return listed.map(({ message }) => message).join(' ') === (channel?.warning ?? '')
    ? channel?.warning
    : { ...channel, warnings };
};
const names = ({ id }: Post) =>
  `Post ${id} has the same text on this channel, at most 24 hours apart.`;

test('a scheduled post whose text goes to the same channel within 24 hours has a warning', async (t) => {
  const { client, channel, other, create } = await workspace();
  const first = await create({ body: 'Come to the  concert\ntonight' }, 48);
  t.is(warningOf(first), null);
  const body = ' Come to the concert tonight';
  t.is(warningOf(await create({ body }, 71.9)), names(first));
  t.is(warningOf(await create({ body: 'Come tonight' }, 48)), null, 'another text');
  t.is(warningOf(await create({ body }, 48, [other])), null, 'another channel');
  t.is(warningOf(await create({ body }, 23.9)), null, 'more than 24 hours before');
  t.is(warningOf(await create({ body }, null)), null, 'a draft');
  t.is(warningOf(await create({ thread: [body, 'And then'] }, 48)), null, 'a thread');

  const all = { body: 'x', channel_ids: [other, channel], scheduled_at: hours(30) };
  const own = { ...all, channel_bodies: { [channel]: body } };
  const { channels } = (await client.post('/posts/validate', own)).body;
  t.deepEqual(channels[0].warnings, []);
  t.is(channels[1].warnings[0].rule, 'same_text');
  t.regex(channels[1].warnings[0].message, /^Post [0-9a-f\-]{36} has the same text/v);
});

test('a draft and a cancelled post do not count, and a draft gets the warning when it is scheduled', async (t) => {
  const { client, create } = await workspace();
  const draft = await create({ thread: ['One', 'Two'] }, null);
  const post = await create({ thread: ['One', 'Two'] }, 48);
  t.is(warningOf(post), null);
  const edit = async (change: object) =>
    (await client.patch(`/posts/${draft.id}`, change)).body.post;
  t.is(warningOf(await edit({ scheduled_at: hours(60) })), names(post));
  t.is(warningOf(await edit({ scheduled_at: hours(90) })), null);
  t.is(warningOf(await edit({ scheduled_at: hours(60) })), names(post));
  t.is((await client.post(`/posts/${post.id}/cancel`)).status, 200);
  t.is(warningOf(await edit({ thread: ['One', 'Two'] })), null);
});

test('the warning says when the other post is unconfirmed', async (t) => {
  const { create } = await workspace();
  const first = await create({ body: 'x' }, 1);
  await setStatus(api.punctual, first.id, 'failed', ['unconfirmed']);
  const next = ' It is unconfirmed there, so the network may have it: settle it first.';
  t.is(warningOf(await create({ body: 'x' }, 2)), names(first) + next);
});

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
