import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { down, fails, fakeNetwork, type FakeNetwork, cannotTell } from '../support/networks.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newSteps } = onOneDatabase(test);

/** A post that was sent, and whose response and first reconcile were lost. */
async function doubtful(
  t: ExecutionContext,
  network: FakeNetwork,
  { fate = 'lost', thread = ['Hello'] }: { fate?: 'lost' | 'vanished'; thread?: string[] } = {},
) {
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await steps.begin({ thread });
  network.fates.push({ kind: fate });
  network.blind = down;
  const waits = await attemptFor(steps, { post, id, forMs: 0 });
  return { steps, post, go, id, waits };
}

/** Attempts the post for `forMs`, at the times that the attempts ask for. @returns the waits in milliseconds. */
async function attemptFor(
  steps: PostSteps,
  { post, id, forMs }: { post: string; id: string; forMs: number },
): Promise<number[]> {
  const waits: number[] = [];
  for (let passedMs = 0; passedMs <= forMs && waits.length < 200;) {
    const tried = await steps.attempt(post, id);
    if (tried.kind === 'done') {
      return waits;
    }

    const waitMs = Math.max(tried.inMs ?? 0, 1);
    steps.pass(waitMs);
    passedMs += waitMs;
    waits.push(waitMs);
  }

  return waits;
}

const shownBy = async (steps: PostSteps, post: string) => (await steps.show(post)).channels[0];

test('a post whose network goes down for an hour right after the send is found when the network is back', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, go, id } = await doubtful(t, network);
  const waits = await attemptFor(steps, { post, id, forMs: hour });

  t.true(
    waits.every((wait, index) => wait >= (waits[index - 1] ?? 30_000)),
    waits.join(),
  );
  const channel = await shownBy(steps, post);
  t.like(channel, { status: 'retrying', error_code: 'network_unavailable' });
  t.regex(channel?.error ?? '', /not known yet.*is asked again/v);
  t.truthy(channel?.retry_at);

  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is((await steps.finalize(post, go)).status, 'published');
  t.is(network.sends.length, 1);
});

test('a post that cannot be reconciled for a day is reconciled once more and ends unconfirmed', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id, waits } = await doubtful(t, network);
  const more = await attemptFor(steps, { post, id, forMs: 30 * hour });

  t.is(sum([...waits, ...more]), 24 * hour);
  t.like(await shownBy(steps, post), { status: 'unconfirmed', error_code: 'unconfirmed' });
  t.regex((await shownBy(steps, post))?.error ?? '', /may or may not/v);
  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
  t.is(network.sends.length, 1);
});

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

for (const [fate, status, code] of [
  ['lost', 'published', null],
  ['vanished', 'failed', 'too_late'],
] as const) {
  test(`the last reconcile, a day after its time, of a post that was ${fate} ends it as ${status} without a request`, async (t) => {
    const network = fakeNetwork(minute);
    const { steps, post, id } = await doubtful(t, network, { fate });
    steps.pass(24 * hour);
    network.blind = undefined;
    t.like(await steps.attempt(post, id), { kind: 'done', status });
    t.like(await shownBy(steps, post), { status, error_code: code });
    t.is(network.sends.length, 1);
  });
}

test('a channel that loses its access during reconciles sends one event, and continues once it is connected again', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network);
  await steps.subscribe('channel.needs_reconnect');
  network.blind = new NetworkError('access_lost', 'They said no.', { accepted: 'no' });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const tried = await steps.attempt(post, id);
    t.like(tried, { kind: 'again', code: 'access_lost' });
    steps.pass(tried.kind === 'again' ? (tried.inMs ?? 0) : 0);
  }

  t.regex((await shownBy(steps, post))?.error ?? '', /Connect the channel again/v);
  const told = await steps.deps.orm.em
    .fork()
    .execute<object[]>(
      `select d.synced_round from events e join deliveries d on d.event_id = e.id where e.workspace_id = ? and e.type = 'channel.needs_reconnect'`,
      [steps.workspaceId],
    );
  t.deepEqual(told, [{ synced_round: 0 }]); // Left to the outbox, because the workflow waits for the channel.

  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
});

test('reconciles do not count as attempts: after a day of reconciles a post still has its other sends', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network, { fate: 'vanished' });
  await attemptFor(steps, { post, id, forMs: 3 * hour });
  network.blind = undefined;
  network.fates.push(...Array.from({ length: 9 }, () => fails('network_unavailable')));
  await attemptFor(steps, { post, id, forMs: 12 * hour });

  t.is(network.sends.length, 5);
  t.like(await shownBy(steps, post), { status: 'failed', error_code: 'network_unavailable' });
});

test('a reconcile that is rate limited waits until the limit ends and is then repeated', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network);
  const retryAtMs = steps.deps.now().getTime() + 7 * minute;
  network.blind = new NetworkError('rate_limited', 'Slowly.', { accepted: 'no', retryAtMs });
  t.deepEqual(await steps.attempt(post, id), {
    kind: 'again',
    code: 'rate_limited',
    inMs: 7 * minute,
  });
  network.blind = undefined;
  steps.pass(7 * minute);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
});

const thread = ['One', 'Two', 'Three'];

/** A thread on one channel that ended after its first part. */
async function endedMidway(t: ExecutionContext, how: (network: FakeNetwork) => void) {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const channel = steps.channels['a'] ?? '';
  const { post, go } = await steps.begin({ thread });
  network.fates.push({ kind: 'taken' });
  how(network);
  await steps.attemptAll(post, go);
  await steps.finalize(post, go);
  const [shown] = (await steps.show(post)).channels;
  return { steps, post, channel, shown, url: network.live[0]?.sent.url ?? '' };
}

const refused = (network: FakeNetwork) => {
  network.fates.push(fails('content_refused'));
};
const inDoubt = (network: FakeNetwork) => {
  network.fates.push({ kind: 'lost' });
  network.blind = cannotTell;
};

for (const [status, how] of [
  ['failed', refused],
  ['unconfirmed', inDoubt],
] as const) {
  test(`a ${status} thread shows the address of its live part, and warns that it is live`, async (t) => {
    const { shown, url } = await endedMidway(t, how);
    const warning = `1 of 3 parts of the thread is live, from ${url} on.`;
    t.like(shown, { status, url, warning });
  });
}

test('the address of a live part is refused for the part in doubt, which the error names', async (t) => {
  const { steps, post, channel, shown, url } = await endedMidway(t, inDoubt);
  t.regex(shown?.error ?? '', /say where part 2 is, or that it is not there\.$/v);
  await t.throwsAsync(steps.settle(post, channel, url), {
    code: 'invalid_request',
    message:
      'url is that of part 1 of the thread, which is known to be live. Send the URL of part 2, or null only if part 2 is not there.',
  });
  t.is((await steps.show(post)).channels[0]?.status, 'unconfirmed');
});
