import test, { type ExecutionContext } from 'ava';
import { editChannel } from '../../services/channels/edit-channel.ts';
import type { Options } from '../../networks/content-rules.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { down, type FakeNetwork, fails, fakeNetwork, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';
import { storeMedia } from '../support/seed-media.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

const text = { type: 'string', description: 'Any.' };

/** A network whose posts may have a first comment. */
function networkWithComments(): FakeNetwork {
  const network = fakeNetwork();
  const { properties } = network.rules.options;
  Object.assign(network.rules, {
    threads: false,
    comments: true,
    options: {
      ...network.rules.options,
      properties: { ...properties, first_comment: text },
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
  const steps = await postSteps(t, { fake: network }, database().url);
  const { deps, workspaceId, channels } = steps;
  const id = channels['fake'] ?? '';
  const change = (options: Options | null) => editChannel(deps, workspaceId, id, { options });
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

test('a cancelled post with a live part keeps its comment when it is edited', async (t) => {
  const { network, steps, id, change, schedule, publish } = await channelWith(t, {
    first_comment: 'Then',
  });
  const post = await schedule();
  network.fates.push({ kind: 'taken' }, { kind: 'fails', error: down });
  const { target } = await publish(post);
  await steps.cancel(post);
  await change({ first_comment: 'Now' });
  await steps.edit(post, { channel_ids: [id], schedule_in_minutes: 0 });
  await steps.claimOrThrow(post);
  steps.pass(10 * minute);
  t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['The post', 'Then']);
});

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
