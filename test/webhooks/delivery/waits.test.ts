import test, { type ExecutionContext } from 'ava';
import { inTurn, status } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { Attempted } from '../support/world.ts';

const world = sharedWorld(test);
const minute = 60_000;
const steps = [1, 5, 30, 120, 360].map((minutes) => minutes * minute);
/** How far the test's own steps may be behind, on a busy machine. */
const slackMs = 30_000;

function waitOf(t: ExecutionContext, attempted: Attempted): number {
  t.is(attempted.kind, 'again', JSON.stringify(attempted));
  return attempted.kind === 'again' ? (attempted.inMs ?? Number.NaN) : Number.NaN;
}

test('a receiver that always fails gets six requests, none before its time, and then the delivery has failed', async (t) => {
  const { event, attempt, shown, receiver, pass, deps } = await world.subscribe(status(500));
  const delivery = await event();
  for (const [index, step] of steps.entries()) {
    const waitMs = waitOf(t, await attempt(delivery));
    t.true(waitMs >= step && waitMs <= step * 1.1, `${waitMs} for a step of ${step}`);
    const before = await shown(delivery);
    t.is(before.attempts.length, index + 1);
    const nextMs = Date.parse(before.next_attempt_at ?? '');
    t.true(nextMs <= deps.now().getTime() + waitMs);

    // As after a crash, when nobody remembers the wait but the row.
    pass(waitMs - slackMs);
    const early = await attempt(delivery);
    t.like(early, { kind: 'again', code: 'too_early' });
    const leftMs = waitOf(t, early);
    t.true(leftMs > 0 && leftMs <= slackMs);
    t.deepEqual(await shown(delivery), before);
    pass(leftMs);
    t.true(deps.now().getTime() >= nextMs);
  }

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'failed' });
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'failed' });

  const { attempts, ...seen } = await shown(delivery);
  t.like(seen, {
    status: 'failed',
    next_attempt_at: null,
    response_status: 500,
    error: 'http_error',
  });
  t.deepEqual(
    attempts.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  );
  const gaps = attempts
    .slice(1)
    .map(
      ({ created_at: at }, index) => Date.parse(at) - Date.parse(attempts[index]?.created_at ?? ''),
    );
  t.true(
    gaps.every((gap, index) => gap >= (steps[index] ?? Infinity)),
    String(gaps),
  );
  t.is(receiver.arrived.length, 6);
});

for (const position of [1, 2, 3, 4, 5, 6]) {
  test(`a receiver that takes the event at attempt ${position} gets no other`, async (t) => {
    const refusals = Array.from({ length: position - 1 }, () => status(503));
    const subscribed = await world.subscribe(inTurn(...refusals, status(200)));
    const { event, attempt, shown, receiver, pass } = subscribed;
    const delivery = await event();
    for (const _ of refusals) {
      pass(waitOf(t, await attempt(delivery)));
    }

    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });
    pass(24 * 60 * minute);
    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

    const { attempts, ...seen } = await shown(delivery);
    t.like(seen, { status: 'delivered', next_attempt_at: null, error: null });
    t.deepEqual(
      attempts.map(({ response_status: code }) => code),
      [...refusals.map(() => 503), 200],
    );
    t.is(receiver.arrived.length, position);
  });
}

const inDate = (ms: number): string => new Date(Date.now() + ms).toUTCString();
const said = (shortest: number, longest: number): string =>
  shortest === longest ? `${shortest} s` : `${shortest} to ${longest} s`;
/** What a receiver says, and the shortest and the longest first wait that may follow, in seconds. */
const asked: Readonly<Record<string, readonly [string, number, number]>> = {
  'more time than the step': ['90', 90, 90],
  'exactly twice the step': ['120', 120, 120],
  'a year': ['31536000', 120, 120],
  'a date in almost two minutes': [inDate(118_000), 67, 118],
  'a date in a year': [inDate(365 * 24 * 60 * minute), 120, 120],
  'no time at all': ['0', 60, 66],
  'less time than the step': ['5', 60, 66],
  'negative time': ['-100', 60, 66],
  'a date in the past': [inDate(-365 * 24 * 60 * minute), 60, 66],
  'something else': ['soon', 60, 66],
  nothing: ['', 60, 66],
};
for (const [what, [header, shortest, longest]] of Object.entries(asked)) {
  test(`a receiver that asks for ${what} by Retry-After gets ${said(shortest, longest)}`, async (t) => {
    const subscribed = await world.subscribe(status(429, { 'retry-after': header }));
    const { event, attempt, shown } = subscribed;
    const delivery = await event();

    const seconds = waitOf(t, await attempt(delivery)) / 1000;

    t.true(seconds >= shortest && seconds <= longest, `${seconds} s`);
    const { next_attempt_at: next, attempts } = await shown(delivery);
    const nextMs = Date.parse(next ?? '') - Date.parse(attempts[0]?.created_at ?? '');
    t.true(nextMs >= seconds * 1000, `${nextMs} ms`);
  });
}
