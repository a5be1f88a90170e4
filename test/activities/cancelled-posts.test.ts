import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import {
  cannotTell,
  down,
  fakeNetwork,
  interrupt,
  liveTexts,
  type FakeNetwork,
} from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

/** A claimed post on one channel. */
async function claimed(t: ExecutionContext) {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  const channel = async () => (await steps.show(post)).channels[0];
  return { network, steps, post, go, id: go.targets[0]?.postChannelId ?? '', channel };
}

const unschedule = async (steps: PostSteps, post: string): Promise<void> => {
  await steps.edit(post, { scheduled_at: null });
};
const cancelAgain = async (steps: PostSteps, post: string): Promise<void> => {
  await steps.cancel(post);
};

for (const [what, stop] of [
  ['cancelled again', cancelAgain],
  ['made a draft by an edit', unschedule],
] as const) {
  test(`an unconfirmed send whose post is cancelled, rescheduled and ${what} is reconciled and ends as published`, async (t) => {
    const { network, steps, post, go, id, channel } = await claimed(t);
    network.fates.push({ kind: 'lost' }); // The network has the post; its response was lost.
    network.blind = down;
    await steps.attempt(post, id);
    t.is(await steps.cancel(post), 1);
    await steps.finalize(post, go);
    await steps.edit(post, { schedule_in_minutes: 600 });
    t.is((await channel())?.status, 'scheduled');

    await stop(steps, post);
    t.like(await channel(), { status: 'retrying', error_code: 'network_unavailable' });
    t.like(steps.messages.at(-1), { status: 'draft', isStillSending: true });
    network.blind = undefined;
    steps.pass(10 * minute);
    const again = await steps.claimOrThrow(post);
    await steps.attempt(post, id);
    await steps.finalize(post, again);

    t.is((await steps.show(post)).status, 'published');
    t.like(await channel(), { status: 'published', error: null, retry_at: null });
    t.deepEqual(liveTexts(network), ['Hello']);
    t.deepEqual(await steps.events(post), ['post.published']);
  });
}

test('each cancel counts a send between its intent and its request', async (t) => {
  const { network, steps, post, go, id } = await claimed(t);
  const counted: number[] = [];
  interrupt(network, 'send', async () => {
    counted.push(await steps.cancel(post));
    await steps.edit(post, { schedule_in_minutes: 600 });
    await steps.finalize(post, go);
    counted.push(await steps.cancel(post));
  });
  await steps.attempt(post, id);

  t.deepEqual(counted, [1, 1]);
  t.is((await steps.show(post)).channels[0]?.status, 'published');
});

test('a cancelled post that loses its unsent channels ends as published, with its event', async (t) => {
  const [a, b] = [fakeNetwork(), fakeNetwork()];
  const steps = await newSteps(t, { a, b });
  await steps.subscribe('post.published', 'post.partial');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  await steps.attempt(post, go.targets[0]?.postChannelId ?? '');
  await steps.cancel(post);
  await steps.finalize(post, go);
  t.is((await steps.show(post)).status, 'draft');

  await steps.edit(post, { channel_ids: [steps.channels['b'] ?? ''] });
  const { status: kept, warning } = await steps.show(post);
  t.is(kept, 'draft');
  t.regex(warning ?? '', /^a channel @me .* stays: the post is or may be live there\./v);

  await steps.edit(post, { channel_ids: [steps.channels['a'] ?? ''] });

  const { status, channels } = await steps.show(post);
  t.is(status, 'published');
  t.deepEqual(
    channels.map((channel) => channel.status),
    ['published'],
  );
  t.deepEqual(await steps.events(post), ['post.published']);
});

for (const [removal, settlesFirst] of [
  ['after', false],
  ['before', true],
] as const) {
  test(`a cancelled post ends as published, with one event, when its last channel is settled ${removal} the others are removed`, async (t) => {
    const [a, b] = [fakeNetwork(), fakeNetwork()];
    const { steps, post, channels } = await doubtfulDraft(t, { a, b });
    const acts = [
      () => steps.edit(post, { channel_ids: [channels.a] }),
      () => steps.settle(post, channels.a, url),
    ];
    for (const act of settlesFirst ? acts.toReversed() : acts) {
      await act();
    }

    t.like(await steps.show(post), { status: 'published', summary: { published: 1, pending: 0 } });
    t.deepEqual(await steps.events(post), ['post.published']);
    await steps.settle(post, channels.a, url); // The same request again.
    t.deepEqual(await steps.events(post), ['post.published']);
    t.is((await steps.claim(post)).kind, 'gone');
  });
}

test('a post that was rescheduled midway and is live on one channel ends as published when the other channel is settled as published', async (t) => {
  const [a, b] = [fakeNetwork(), fakeNetwork()];
  const steps = await newSteps(t, { a, b });
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  a.fates.push({ kind: 'lost' });
  a.blind = cannotTell;
  interrupt(b, 'send', async () => {
    t.is(await steps.cancel(post), 1);
    await steps.edit(post, { schedule_in_minutes: 600 });
  });
  await steps.attemptAll(post, go);
  t.like(await steps.show(post), { status: 'scheduled', summary: { published: 1, failed: 1 } });

  await steps.settle(post, steps.channels['a'] ?? '', url);

  t.is((await steps.show(post)).status, 'published');
  steps.pass(600 * minute);
  t.is((await steps.claim(post)).kind, 'gone');
  t.deepEqual(await steps.events(post), ['post.published']);
});

test('a cancelled post whose only remaining channel is settled as absent stays a draft and can be scheduled', async (t) => {
  const [a, b] = [fakeNetwork(), fakeNetwork()];
  const { steps, post, channels } = await doubtfulDraft(t, { a, b });
  await steps.edit(post, { channel_ids: [channels.a] });
  a.live.pop();
  await steps.settle(post, channels.a, null);
  t.is((await steps.show(post)).status, 'draft');
  t.deepEqual(await steps.events(post), []);

  a.blind = undefined;
  await steps.edit(post, { schedule_in_minutes: 0 });
  const again = await steps.claimOrThrow(post);
  await steps.attemptAll(post, again);
  await steps.finalize(post, again);
  t.is((await steps.show(post)).status, 'published');
  t.deepEqual(liveTexts(a), ['Hello']);
  t.deepEqual(await steps.events(post), ['post.published']);
});

const url = 'https://fake.example/found';

/**
 * A post cancelled after it was sent to one of its two channels, whose network cannot tell whether the post is live.
 */
async function doubtfulDraft(t: ExecutionContext, networks: Record<'a' | 'b', FakeNetwork>) {
  const steps = await newSteps(t, networks);
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channels = { a: steps.channels['a'] ?? '', b: steps.channels['b'] ?? '' };
  const channel_ids = [channels.a, channels.b];
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  networks.a.fates.push({ kind: 'lost' });
  networks.a.blind = cannotTell;
  await steps.attempt(post, go.targets[0]?.postChannelId ?? '');
  t.is(await steps.cancel(post), 0);
  await steps.finalize(post, go);
  steps.pass(2 * minute);
  const { channels: shown } = await steps.show(post);
  t.deepEqual(
    shown.map(({ status }) => status),
    ['unconfirmed', 'draft'],
  );
  return { steps, post, channels };
}

for (const [what, ask] of [
  ['nothing', async () => undefined],
  ['a cancel', async ({ steps, post }: Awaited<ReturnType<typeof claimed>>) => steps.cancel(post)],
  [
    'a draft',
    async ({ steps, post }: Awaited<ReturnType<typeof claimed>>) =>
      steps.edit(post, { scheduled_at: null }),
  ],
] as const) {
  test(`once its send succeeds it ends as published, and stays so after ${what}`, async (t) => {
    const made = await claimed(t);
    const { network, steps, post, go, id } = made;
    interrupt(network, 'send', async () => {
      t.is(await steps.cancel(post), 1);
      await steps.edit(post, { schedule_in_minutes: 600 });
    });
    await steps.attempt(post, id);
    await steps.finalize(post, go);
    t.deepEqual(await steps.events(post), ['post.published']);
    await ask(made).catch(() => undefined);

    const { status, summary } = await steps.show(post);
    t.is(status, 'published');
    t.like(summary, { published: 1, pending: 0 });
    steps.pass(48 * 60 * minute);
    t.is((await steps.claim(post)).kind, 'gone');
    t.deepEqual(await steps.events(post), ['post.published']);
    t.deepEqual(liveTexts(network), ['Hello']);
  });
}

test('a rescheduled post whose worker died shows as scheduled, and is found at its new time', async (t) => {
  const { network, steps, post, go, id } = await claimed(t);
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    await send(...args);
    t.is(await steps.cancel(post), 1);
    throw new CancelledFailure('The worker is gone.');
  };
  await t.throwsAsync(steps.attempt(post, id));
  await steps.finalize(post, go);
  await steps.edit(post, { schedule_in_minutes: 60 * 24 }); // While the workflow waits before its next claim.

  t.is((await steps.claim(post)).kind, 'not_due');
  t.is((await steps.show(post)).channels[0]?.status, 'scheduled');
  steps.pass(60 * 24 * minute);
  const due = await steps.claimOrThrow(post);
  await steps.attempt(post, id);
  await steps.finalize(post, due);
  t.is((await steps.show(post)).status, 'published');
  t.deepEqual(liveTexts(network), ['Hello']);
  t.deepEqual(await steps.events(post), ['post.published']);
});
