import test, { type ExecutionContext } from 'ava';
import { text } from 'node:stream/consumers';
import { optionsFor, type Options } from '../../networks/content-rules.ts';
import type { PublishStep } from '../../networks/network.ts';
import { editChannel } from '../../services/channels/edit-channel.ts';
import { fakeNetwork, type FakeNetwork, fails, liveTexts } from '../support/networks.ts';
import { storeFile, type TestFile, storeMedia } from '../support/seed-media.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const { newSteps, newChannel } = onOneDatabase(test);

const textOption = { type: 'string', description: 'Any.' };
const schema = {
  type: 'object',
  additionalProperties: false,
  properties: { title: textOption, privacy: textOption, made_for_kids: { type: 'boolean' } },
} as const;

test('options apply in order: channel defaults, the post’s video, options of the post', (t) => {
  const rules = { options: schema };
  const defaults = { title: 'Default', privacy: 'private' };
  const video = { title: 'Video', privacy: 'unlisted', made_for_kids: true } as const;
  t.deepEqual(optionsFor(rules, { defaults, video, own: { title: 'Own' } }), {
    title: 'Own',
    privacy: 'unlisted',
    made_for_kids: true,
  });
  t.deepEqual(optionsFor(rules, { defaults, video: null, own: null }), defaults);
  const none = { options: { ...schema, properties: {} } };
  t.deepEqual(optionsFor(none, { defaults: {}, video, own: null }), {});
});

const file = (name: string): TestFile => ({
  name,
  type: 'image/png',
  bytes: Buffer.from(`content of ${name}`),
  width: 10,
  height: 10,
});

/** A thread of two parts on a fake network, and the parts that the network received. */
async function thread(t: ExecutionContext) {
  const network = fakeNetwork();
  const handed: PublishStep['parts'][number][] = [];
  const { upload } = network;
  network.upload = async (connection, step) => {
    handed.push(...step.parts);
    return upload(connection, step);
  };
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['One', 'Two'], [file('a.png')]);
  const { deps, workspaceId, channelId } = channel;
  const sql = (statement: string, ...values: unknown[]) =>
    deps.orm.em.fork().execute(statement, values);
  const store = (name: string) => storeFile(deps, workspaceId, file(name));
  return { network, handed, post, channelId, workspaceId, sql, store };
}

test('each part goes out with the options of the post over the defaults of its channel', async (t) => {
  const { handed, post, channelId, sql } = await thread(t);
  const given = ['{"note":"default","cover":"x"}', '{"note":"own"}'];
  const set = 'update post_channels set defaults = ?, options = ? where channel_id = ?';
  await sql(set, ...given, channelId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const wanted = { note: 'own', cover: 'x' };
  t.deepEqual(
    handed.map(({ options }) => options),
    [wanted, wanted],
  );
});

for (const column of ['defaults', 'options'] as const) {
  test(`a file in the ${column} of a post reaches the network with its bytes`, async (t) => {
    const { handed, post, channelId, sql, store } = await thread(t);
    const options = JSON.stringify({ cover: await store('cover.png') });
    await sql(`update post_channels set ${column} = ? where channel_id = ?`, options, channelId);
    t.like(await post.attempt(), { kind: 'done', status: 'published' });
    const cover = handed[0]?.optionFiles?.['cover'];
    t.like(cover, { name: 'cover.png', type: 'image/png' });
    t.is(cover && (await text(await cover.open())), 'content of cover.png');
    t.deepEqual(
      handed.map(({ media }) => media.map(({ name }) => name)),
      [['a.png'], []],
    );
  });
}

test("a channel's own files go out with the first part, instead of the post's files", async (t) => {
  const { handed, post, channelId, sql, store } = await thread(t);
  const own = [
    { media_id: await store('c.png'), alt_text: 'C' },
    { media_id: await store('b.png'), alt_text: null },
  ];
  const media = JSON.stringify(own);
  await sql('update post_channels set media = ? where channel_id = ?', media, channelId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(
    handed.map((part) => part.media.map(({ name, altText }) => `${name} ${altText}`)),
    [['c.png C', 'b.png null'], []],
  );
});

test('a file of another workspace is not sent, whatever the options contain', async (t) => {
  const { handed, post, channelId, sql } = await thread(t);
  const cover = await (await thread(t)).store('cover.png');
  const options = JSON.stringify({ cover });
  await sql('update post_channels set options = ? where channel_id = ?', options, channelId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(handed[0]?.optionFiles, {});
});

test('each part goes out with its own files and their alt texts for the post', async (t) => {
  const { handed, network, post, workspaceId, sql, store } = await thread(t);
  const id = await store('b.png');
  await sql(
    `insert into post_media (workspace_id, post_id, media_id, part, position, from_url, alt_text)
     select workspace_id, post_id, ?, 1, 5, false, 'For this post' from post_media where workspace_id = ?`,
    id,
    workspaceId,
  );
  await sql(`update media_files set alt_text = 'Of the file' where workspace_id = ?`, workspaceId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [['a.png: content of a.png'], ['b.png: content of b.png']]);
  t.deepEqual(
    handed.map(({ media }) => media.map(({ altText }) => altText)),
    [['Of the file'], ['For this post']],
  );
});

const minute = 60_000;

/** A network whose posts may have a first comment. */
function networkWithComments(): FakeNetwork {
  const network = fakeNetwork();
  const { properties } = network.rules.options;
  Object.assign(network.rules, {
    threads: false,
    comments: true,
    options: {
      ...network.rules.options,
      properties: { ...properties, first_comment: textOption },
    },
  });
  return network;
}

/** A channel with these default options, and the options of each part that was sent to it. */
async function channelWith(t: ExecutionContext, defaults: Options | null) {
  const network = networkWithComments();
  const sentWith: Options[] = [];
  const { send } = network;
  network.send = (connection, step, files) => {
    sentWith.push(...step.parts.map(({ options }) => options));
    return send(connection, step, files);
  };
  const steps = await newSteps(t, { fake: network });
  const { deps, workspaceId, channels } = steps;
  const id = channels['fake'] ?? '';
  const change = (options: Options | null) => editChannel(deps, { workspaceId }, id, { options });
  await change(defaults);
  const schedule = (more: object = {}) =>
    steps.create({ body: 'The post', channel_ids: [id], schedule_in_minutes: 0, ...more });
  const publish = async (post: string) => {
    const claimed = await steps.claimOrThrow(post);
    const target = claimed.targets[0]?.postChannelId ?? '';
    return { claimed, target, result: await steps.attempt(post, target) };
  };
  return { network, steps, sentWith, id, change, schedule, publish };
}

for (const [what, before, after] of [
  ['other', { note: 'then' }, { note: 'now' }],
  ['no', { note: 'then' }, null],
  ['its first', null, { note: 'now' }],
] as const) {
  test(`a scheduled post keeps the defaults that it was validated with when its channel gets ${what} ones`, async (t) => {
    const { sentWith, change, schedule, publish } = await channelWith(t, before);
    const post = await schedule();
    await change(after);
    t.like((await publish(post)).result, { kind: 'done', status: 'published' });
    t.deepEqual(sentWith, [before ?? {}]);
  });
}

test('an edit takes the current defaults, and a retry keeps those of the post', async (t) => {
  const { network, steps, sentWith, change, schedule, publish } = await channelWith(t, {
    note: 'then',
  });
  const post = await schedule();
  await change({ note: 'now' });
  await steps.edit(post, { body: 'Edited' });
  await change({ note: 'later' });
  network.fates.push(fails('content_refused'));
  const { claimed, target } = await publish(post);
  await steps.finalize(post, claimed);
  await steps.retry(post);
  await steps.claimOrThrow(post);
  t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });
  t.deepEqual(sentWith, [{ note: 'now' }, { note: 'now' }]);
});

for (const [what, before, after, live] of [
  ['another comment', { first_comment: 'Then' }, { first_comment: 'Now' }, ['The post', 'Then']],
  ['no comment any more', { first_comment: 'Then' }, null, ['The post', 'Then']],
  ['a comment for the first time', null, { first_comment: 'Now' }, ['The post']],
] as const) {
  test(`a post that is already live gets the comment it was scheduled with when the defaults have ${what}`, async (t) => {
    const { network, steps, change, schedule, publish } = await channelWith(t, before);
    const post = await schedule();
    const { send } = network;
    network.send = async (connection, step, files) => {
      await send(connection, step, files);
      network.send = send;
      await change(after);
      throw new Error('killed');
    };
    const { target } = await publish(post);
    steps.pass(10 * minute);
    t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });
    t.deepEqual(liveTexts(network), live);
  });
}

test('a file that a scheduled post takes from former defaults cannot be deleted', async (t) => {
  const { steps, change, schedule } = await channelWith(t, null);
  const { deps, workspaceId } = steps;
  const cover = await storeMedia(deps, workspaceId);
  await change({ cover });
  const post = await schedule({ schedule_in_minutes: 60 });
  await change(null);
  const files = () =>
    deps.orm.em.fork().execute('select media_id from post_media where post_id = ?', [post]);
  t.deepEqual(await files(), [{ media_id: cover }]);
  await steps.edit(post, { body: 'Edited' });
  t.deepEqual(await files(), [], 'an edit takes the current defaults');
});
