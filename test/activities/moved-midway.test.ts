import test, { type ExecutionContext } from 'ava';
import { CancelledFailure } from '@temporalio/common';
import { fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

// A post that was cancelled and rescheduled in the middle of a send.

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
  return { network, steps, post, go, id: go.targets[0]?.postChannelId ?? '' };
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
    await steps.finalize(post, go, { canceled: false, signalled: 3 });
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
  await steps.finalize(post, go, { canceled: true, signalled: 2 });
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
