import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import {
  down,
  fails,
  fakeNetwork,
  interrupt,
  liveTexts,
  type FakeNetwork,
} from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newSteps } = onOneDatabase(test);
const thread = ['One', 'Two', 'Three'];

async function claimed(t: ExecutionContext, network: FakeNetwork, texts = thread) {
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.failed');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ thread: texts, channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  return { steps, post, go, id: go.targets[0]?.postChannelId ?? '' };
}

const shown = async (steps: PostSteps, post: string) => (await steps.show(post)).channels[0];

/** Cancels a thread while its first part is sent; the second part then fails with `second`. */
async function cancelledInFirst(t: ExecutionContext, second: ReturnType<typeof fails>) {
  const network = fakeNetwork();
  const made = await claimed(t, network);
  const { steps, post, go, id } = made;
  interrupt(network, 'send', async () => {
    t.is(await steps.cancel(post), 1);
    network.fates.push({ kind: 'taken' }, second);
  });
  await steps.attempt(post, id);
  return {
    network,
    ...made,
    end: await steps.finalize(post, go, { canceled: true, signalled: 2 }),
  };
}

test('a thread that is cancelled midway and then rate limited shows its live part and continues after the limit', async (t) => {
  const retryAtMs = Date.parse('2026-05-01T22:00:00Z');
  const limit = fails('rate_limited', { retryAtMs });
  const { network, steps, post, id, end } = await cancelledInFirst(t, limit);
  t.like(end, { status: 'draft', unfinished: true });
  const live = network.live[0]?.sent.url ?? '?';
  t.like(await steps.show(post), { status: 'draft', scheduled_at: null });
  const channel = await shown(steps, post);
  t.like(channel, { status: 'retrying', error_code: 'rate_limited', url: live });
  t.is(channel?.retry_at, new Date(retryAtMs).toISOString());
  t.regex(channel?.warning ?? '', /^1 of 3 parts/v);

  const again = await steps.claimOrThrow(post); // The ending workflow starts this run, or the sweep does.
  t.like(await steps.attempt(post, id), { kind: 'again', code: 'rate_limited' });
  steps.pass(10 * hour);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), thread);
  t.is((await steps.finalize(post, again)).status, 'published');
  t.deepEqual(await steps.events(post), ['post.published']);
  t.like(await shown(steps, post), { url: live, warning: null, error: null });
});

test('a thread that is cancelled midway and then refused fails, and its error names the live parts', async (t) => {
  const { network, steps, post, end } = await cancelledInFirst(t, fails('content_refused'));
  t.is(end.status, 'failed');
  const channel = await shown(steps, post);
  t.like(channel, { status: 'failed', error_code: 'content_refused' });
  t.true(channel?.error?.includes(network.live[0]?.sent.url ?? '?'));
  t.deepEqual(await steps.events(post), ['post.failed']);
});

test('a thread that is cancelled midway is given up a day after its first part', async (t) => {
  const retryAtMs = Date.parse('2026-05-01T22:00:00Z');
  const { network, steps, post, id } = await cancelledInFirst(
    t,
    fails('rate_limited', { retryAtMs }),
  );
  const again = await steps.claimOrThrow(post);
  steps.pass(25 * hour);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'failed' });
  t.is((await steps.finalize(post, again)).status, 'failed');
  t.like(await shown(steps, post), { error_code: 'too_late' });
  t.is(network.live.length, 1);
});

test('a thread that is cancelled while it waits for a rate limit stops, and shows its live parts', async (t) => {
  const network = fakeNetwork();
  const { steps, post, go, id } = await claimed(t, network);
  network.fates.push({ kind: 'taken' }, { kind: 'taken' }, fails('rate_limited'));
  await steps.attempt(post, id);
  t.is(await steps.cancel(post), 0);
  const end = await steps.finalize(post, go, { canceled: true, signalled: 2 });
  t.is(end.unfinished, undefined);

  const live = network.live[0]?.sent.url ?? '?';
  t.like(await shown(steps, post), { status: 'draft', url: live, error: null, retry_at: null });
  t.is(
    (await shown(steps, post))?.warning,
    `2 of 3 parts of the thread are live, from ${live} on.`,
  );
  t.is((await steps.claim(post)).kind, 'gone');

  await steps.edit(post, { schedule_in_minutes: 1 });
  t.like(await shown(steps, post), { status: 'scheduled', url: live });
  steps.pass(2 * minute);
  await steps.attemptAll(post, await steps.claimOrThrow(post));
  t.deepEqual(liveTexts(network), thread);
});

test('a single post that is cancelled and then rate limited becomes a draft without live parts', async (t) => {
  const network = fakeNetwork();
  const { steps, post, go, id } = await claimed(t, network, ['Hello']);
  interrupt(network, 'send', async () => {
    t.is(await steps.cancel(post), 1);
    network.fates.push(fails('rate_limited'));
  });
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'draft' });
  const end = await steps.finalize(post, go, { canceled: true, signalled: 2 });
  t.like(end, { status: 'draft' });
  t.is(end.unfinished, undefined);
  t.like(await shown(steps, post), { status: 'draft', url: null, warning: null, error: null });
});

for (const [fate, status, event] of [
  ['lost', 'published', ['post.published']],
  ['vanished', 'draft', []],
] as const) {
  test(`a cancelled post whose send was ${fate} is reconciled and ends as ${status}`, async (t) => {
    const network = fakeNetwork(minute);
    const { steps, post, go, id } = await claimed(t, network, ['Hello']);
    network.fates.push({ kind: fate });
    network.blind = down;
    await steps.attempt(post, id);
    t.is(await steps.cancel(post), 1);
    t.like(await steps.finalize(post, go, { canceled: true, signalled: 2 }), { unfinished: true });
    const waiting = await shown(steps, post);
    t.like(waiting, { status: 'retrying', error_code: 'network_unavailable' });
    t.truthy(waiting?.retry_at);

    steps.pass(hour);
    network.blind = undefined;
    const again = await steps.claimOrThrow(post);
    t.like(await steps.attempt(post, id), { kind: 'done', status });
    t.is((await steps.finalize(post, again)).status, status);
    t.deepEqual(await steps.events(post), [...event]);
    t.is(network.sends.length, 1);
    t.like(await shown(steps, post), { status, error: null, retry_at: null });
  });
}

test('a post that is cancelled after its workflow and worker died during the send is reconciled and ends with one event', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await dying(t, network, true);
  t.is(await steps.cancel(post), 1);
  const go = await steps.claimOrThrow(post); // By the workflow that the cancel or the sweep starts.
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is((await steps.finalize(post, go)).status, 'published');
  t.deepEqual(await steps.events(post), ['post.published']);
});

test('a cancelled post whose dead worker sent nothing becomes a draft, and is not sent', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await dying(t, network, false);
  t.is(await steps.cancel(post), 1);
  const go = await steps.claimOrThrow(post);
  t.like(await steps.attempt(post, id), { kind: 'again' }); // The post may still appear.
  steps.pass(2 * minute);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'draft' });
  t.is((await steps.finalize(post, go)).status, 'draft');
  t.like(await shown(steps, post), { status: 'draft', error: null });
  t.deepEqual(network.live, []);
});

test('a send that completes after its workflow was lost and its post cancelled ends the post, with its event', async (t) => {
  const network = fakeNetwork();
  const { steps, post, id } = await claimed(t, network, ['Hello']);
  interrupt(network, 'send', async () => {
    await steps.cancel(post);
  });
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is((await steps.show(post)).status, 'published'); // No finalize follows.
  t.deepEqual(await steps.events(post), ['post.published']);
});

test('a thread that is cancelled midway, edited, rescheduled and cancelled again sends nothing of its old version', async (t) => {
  const retryAtMs = Date.parse('2026-05-01T12:10:00Z');
  const { network, steps, post, id } = await cancelledInFirst(
    t,
    fails('rate_limited', { retryAtMs }),
  );
  await steps.deps.orm.em.execute(`update post_channels set status = 'publishing' where id = ?`, [
    id,
  ]); // As after a worker's death.
  await steps.edit(post, { thread: ['One', 'Else'], schedule_in_minutes: 60 });
  await steps.cancel(post);
  steps.pass(hour);
  const go = await steps.claimOrThrow(post);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'draft' });
  t.is((await steps.finalize(post, go)).status, 'draft');
  t.deepEqual(liveTexts(network), ['One']);
});

for (const [fate, status, text] of [
  ['lost', 'published', 'Hello'],
  ['vanished', 'draft', 'New'],
] as const) {
  test(`a post whose send was ${fate} and that was edited, rescheduled and cancelled again is ${status} with the text "${text}"`, async (t) => {
    const network = fakeNetwork(minute);
    const { steps, post, id } = await claimed(t, network, ['Hello']);
    network.fates.push({ kind: fate });
    network.blind = down;
    await steps.attempt(post, id);
    await steps.deps.orm.em.execute(`update post_channels set status = 'publishing' where id = ?`, [
      id,
    ]); // As after a worker's death.
    await steps.cancel(post);
    await steps.edit(post, { thread: null, body: 'New', schedule_in_minutes: 60 });
    t.is(await steps.cancel(post), 1);
    network.blind = undefined;
    steps.pass(hour);
    const go = await steps.claimOrThrow(post);
    t.like(await steps.attempt(post, id), { kind: 'done', status });
    t.is((await steps.finalize(post, go)).status, status);
    t.like(await shown(steps, post), { status, body: text });
    t.is(network.sends.length, 1);
  });
}

/** Creates a post whose worker dies during its send. @param arrived Whether the network receives the post. */
async function dying(t: ExecutionContext, network: FakeNetwork, arrived: boolean) {
  const made = await claimed(t, network, ['Hello']);
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    await (arrived && send(...args));
    throw new CancelledFailure('The worker is gone.'); // The attempt writes nothing more.
  };
  await t.throwsAsync(made.steps.attempt(made.post, made.id));
  return made;
}
