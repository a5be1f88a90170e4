import test from 'ava';
import { CancelledFailure } from '@temporalio/common';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

/** A claimed post, and the id of its one post channel. */
async function claimed(steps: PostSteps, content: object) {
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ ...content, channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  return { post, go, id: go.targets[0]?.postChannelId ?? '' };
}

test('a thread that was cancelled midway and edited is not finished with its old text when it is scheduled meanwhile', async (t) => {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await claimed(steps, { thread: ['One', 'Two'] });
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    t.is(await steps.cancel(post), 1);
    await send(...args);
    throw new CancelledFailure('The worker is gone.');
  };
  await steps.attempt(post, id).catch(() => undefined);
  await steps.finalize(post, go, { canceled: true, signalled: 2 });
  await steps.edit(post, { thread: ['One', 'Zwei'] });
  const again = await steps.claimOrThrow(post);
  interrupt(network, 'upload', () => steps.edit(post, { schedule_in_minutes: 60 }));
  await steps.attempt(post, id).catch(() => undefined);
  await steps.finalize(post, again, { signalled: 3 });
  t.deepEqual(liveTexts(network), ['One']);
});

for (const when of ['waits for a limit', 'is at work'] as const) {
  test(`an edit of a cancelled thread stops its remaining parts while it ${when}, and the new parts go out at their time`, async (t) => {
    const network = fakeNetwork(minute);
    const steps = await newSteps(t, { a: network });
    const { post, go, id } = await claimed(steps, { thread: ['One', 'Two', 'Three'] });
    const retryAtMs = Date.parse('2026-05-01T12:10:00Z');
    interrupt(network, 'send', async () => {
      t.is(await steps.cancel(post), 1);
      network.fates.push({ kind: 'taken' }, fails('rate_limited', { retryAtMs }));
    });
    await steps.attempt(post, id);
    t.like(await steps.finalize(post, go, { canceled: true, signalled: 2 }), { unfinished: true });
    const edit = () => steps.edit(post, { thread: ['One', 'Zwei', 'Drei'] });
    const again = await steps.claimOrThrow(post);
    steps.pass(15 * minute);
    if (when === 'is at work') {
      interrupt(network, 'upload', edit);
    } else {
      await edit();
    }

    await steps.attempt(post, id).catch(() => undefined);
    await steps.finalize(post, again, { canceled: true, signalled: 2 });
    t.deepEqual(liveTexts(network), ['One']);
    const { status, channels } = await steps.show(post);
    t.is(status, 'draft');
    t.is(channels[0]?.status, 'draft');

    await steps.edit(post, { schedule_in_minutes: 60 });
    steps.pass(61 * minute);
    const third = await steps.claimOrThrow(post);
    await steps.attemptAll(post, third);
    await steps.finalize(post, third);
    t.deepEqual(liveTexts(network), ['One', 'Zwei', 'Drei']);
  });
}

test('a post that is cancelled before its request and edited as a draft is not sent with its old text', async (t) => {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await claimed(steps, { body: 'Old' });
  interrupt(network, 'upload', async () => {
    t.is(await steps.cancel(post), 1);
    await steps.edit(post, { body: 'New' });
  });
  await steps.attempt(post, id).catch(() => undefined);
  await steps.finalize(post, go, { canceled: true, signalled: 2 });

  t.deepEqual(liveTexts(network), []);
  const { status, channels } = await steps.show(post);
  t.deepEqual([status, channels[0]?.status], ['draft', 'draft']);
});

test('an edit without changes does not stop a cancelled post that is being sent', async (t) => {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await claimed(steps, { thread: ['One', 'Two'] });
  interrupt(network, 'send', async () => {
    t.is(await steps.cancel(post), 1);
    await steps.edit(post, { thread: ['One', 'Two'] });
  });
  await steps.attempt(post, id);
  await steps.finalize(post, go, { canceled: true, signalled: 2 });

  t.deepEqual(liveTexts(network), ['One', 'Two']);
  t.is((await steps.show(post)).status, 'published');
});

for (const code of ['content_refused', 'access_lost', 'too_late'] as const) {
  test(`a post that is cancelled midway, edited and rescheduled is sent at its new time although the old send ended with ${code}`, async (t) => {
    const network = fakeNetwork(minute);
    const steps = await newSteps(t, { a: network });
    await steps.subscribe('post.published', 'post.failed');
    const { post, go, id } = await claimed(steps, { body: 'Old' });
    interrupt(network, 'send', async () => {
      t.is(await steps.cancel(post), 1);
      await steps.edit(post, { body: 'New', schedule_in_minutes: 60 });
      network.fates.push(fails(code));
    });
    await steps.attempt(post, id);
    await steps.finalize(post, go, { signalled: 3 });
    t.like((await steps.show(post)).channels[0], { status: 'scheduled', error: null });

    steps.pass(61 * minute);
    const again = await steps.claimOrThrow(post);
    await steps.attemptAll(post, again);
    await steps.finalize(post, again);
    t.deepEqual(liveTexts(network), ['New']);
    t.deepEqual(await steps.events(post), ['post.published']);
  });
}
