import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import {
  down,
  fails,
  fakeNetwork,
  interrupt,
  liveTexts,
  type Fate,
  type FakeNetwork,
} from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newSteps } = onOneDatabase(test);
const thread = ['One', 'Two', 'Three'];

async function claimed(t: ExecutionContext, texts: readonly string[]) {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const { post, id } = await steps.begin({ thread: [...texts] });
  return { network, steps, post, id };
}

const shown = async (steps: PostSteps, post: string) => (await steps.show(post)).channels[0];

/** Claims and attempts a cancelled post, as its workflow does, until the channel has ended. */
async function untilEnded(steps: PostSteps, post: string): Promise<void> {
  for (let claim = await steps.claim(post); claim.kind === 'go'; claim = await steps.claim(post)) {
    await steps.attemptAll(post, claim);
    steps.pass(10 * minute);
  }
}

const taken: Fate = { kind: 'taken' };
type End = readonly [
  status: 'published' | 'draft' | 'failed',
  code: string | null,
  post: 'published' | 'draft' | 'failed',
  live: number,
];

const published: End = ['published', null, 'published', 1];
const draft: End = ['draft', null, 'draft', 0];
const cancelled: End = ['failed', 'cancelled', 'draft', 1];

const cases: readonly (readonly [what: string, texts: readonly string[], Fate[], End])[] = [
  ['a send that succeeds', ['Hello'], [taken], published],
  ['a send that is refused for now', ['Hello'], [fails('network_unavailable')], draft],
  ['a send that meets a rate limit', ['Hello'], [fails('rate_limited')], draft],
  [
    'a send that is refused for good',
    ['Hello'],
    [fails('content_refused')],
    ['failed', 'content_refused', 'failed', 0],
  ],
  ['a send whose answer is lost', ['Hello'], [{ kind: 'lost' }], published],
  ['a send that is lost', ['Hello'], [{ kind: 'vanished' }], draft],
  ['the first part of a thread', thread, [taken], ['published', null, 'published', 3]],
  [
    'the first part of a thread whose second part is refused for now',
    thread,
    [taken, fails('rate_limited')],
    cancelled,
  ],
  [
    'the first part of a thread whose second part is refused for good',
    thread,
    [taken, fails('content_refused')],
    cancelled,
  ],
  [
    'the first part of a thread whose second answer is lost',
    thread,
    [taken, { kind: 'lost' }],
    ['failed', 'cancelled', 'draft', 2],
  ],
  [
    'the first part of a thread whose last answer is lost',
    thread,
    [taken, taken, { kind: 'lost' }],
    ['published', null, 'published', 3],
  ],
];

for (const [what, texts, fates, [status, code, after, live]] of cases) {
  test(`a cancel during ${what} lets the attempt end, and nothing more is sent: ${status}`, async (t) => {
    const { network, steps, post, id } = await claimed(t, texts);
    network.fates.push(...fates);
    const isLost = fates.at(-1)?.kind === 'lost' || fates.at(-1)?.kind === 'vanished';
    network.blind = isLost ? down : undefined;
    interrupt(network, 'send', async () => {
      t.is(await steps.cancel(post), 1);
    });
    await steps.attempt(post, id);
    const sends = network.sends.length;
    network.blind = undefined;
    await untilEnded(steps, post);

    t.is(network.sends.length, sends);
    t.deepEqual(liveTexts(network), texts.slice(0, live));
    t.like(await shown(steps, post), { status, error_code: code, retry_at: null });
    t.is((await steps.show(post)).status, after);
    const events = { published: ['post.published'], failed: ['post.failed'], draft: [] };
    t.deepEqual(await steps.events(post), events[after]);
  });
}

for (const [texts, dies, arrives, end] of [
  [['Hello'], 1, true, published],
  [['Hello'], 1, false, draft],
  [thread, 2, true, ['failed', 'cancelled', 'draft', 2]],
  [thread, 2, false, cancelled],
  [thread, 3, true, ['published', null, 'published', 3]],
] as readonly (readonly [readonly string[], number, boolean, End])[]) {
  const [status, code, after, live] = end;
  test(`a cancel of a post whose worker dies in part ${dies} of ${texts.length}, which ${arrives ? 'arrives' : 'does not arrive'}, only reconciles it: ${status}`, async (t) => {
    const { network, steps, post, id } = await claimed(t, texts);
    dieInSend(network, dies, arrives);
    await t.throwsAsync(steps.attempt(post, id));
    t.is(await steps.cancel(post), 1);
    steps.pass(2 * minute);
    await untilEnded(steps, post);

    t.deepEqual(liveTexts(network), texts.slice(0, live));
    t.like(await shown(steps, post), { status, error_code: code });
    t.is((await steps.show(post)).status, after);
    t.deepEqual(await steps.events(post), after === 'published' ? ['post.published'] : []);
  });
}

test('a cancel of a thread that waits for a rate limit keeps its live parts, and a new time sends the rest', async (t) => {
  const { network, steps, post, id } = await claimed(t, thread);
  network.fates.push(taken, taken, fails('rate_limited'));
  await steps.attempt(post, id);
  t.is(await steps.cancel(post), 0);
  t.is((await steps.claim(post)).kind, 'gone');
  const url = network.live[0]?.sent.url ?? '?';
  const channel = await shown(steps, post);
  t.like(channel, { status: 'failed', error_code: 'cancelled' });
  t.true(channel?.error?.includes(url), channel?.error ?? '');
  t.is((await steps.show(post)).status, 'draft');

  await steps.edit(post, { schedule_in_minutes: 1 });
  t.like(await shown(steps, post), { status: 'scheduled', error: null, url });
  steps.pass(2 * minute);
  const again = await steps.claimOrThrow(post);
  await steps.attemptAll(post, again);
  t.is((await steps.finalize(post, again)).status, 'published');
  t.deepEqual(liveTexts(network), thread);
  t.deepEqual(await steps.events(post), ['post.published']);
});

for (const [fate, status, text] of [
  ['lost', 'published', 'Hello'],
  ['vanished', 'draft', 'New'],
] as const) {
  test(`a post whose send was ${fate} and that was edited, rescheduled and cancelled again is ${status} with the text "${text}"`, async (t) => {
    const { network, steps, post, id } = await claimed(t, ['Hello']);
    network.fates.push({ kind: fate });
    network.blind = down;
    await steps.attempt(post, id);
    await steps.cancel(post);
    await steps.edit(post, { thread: null, body: 'New', schedule_in_minutes: 60 });
    t.is(await steps.cancel(post), 1);
    network.blind = undefined;
    steps.pass(hour);
    await untilEnded(steps, post);
    t.like(await shown(steps, post), { status, body: text });
    t.is(network.sends.length, 1);
  });
}

/** @param part Counted from 1. @param arrives Whether the network receives the part. */
function dieInSend(network: FakeNetwork, part: number, arrives: boolean): void {
  const { send } = network;
  let sends = 0;
  network.send = async (...args) => {
    sends += 1;
    if (sends < part) {
      return send(...args);
    }

    network.send = send;
    await (arrives && send(...args));
    throw new CancelledFailure('The worker is gone.'); // The attempt writes nothing more.
  };
}
