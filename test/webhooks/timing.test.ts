import test, { type ExecutionContext } from 'ava';
import { inTurn, status, type Answer } from '../support/answers.ts';
import { withOptions } from '../support/egress-without-timeouts.ts';
import { sharedWebhooks, type AttemptedDelivery, type Subscription } from '../support/webhooks.ts';

const api = sharedWebhooks(test);
const minute = 60_000;
const halfMinute = minute / 2;
const steps = [1, 5, 30, 120, 360].map((minutes) => minutes * minute);

function waitOf(t: ExecutionContext, attempted: AttemptedDelivery): number {
  t.is(attempted.kind, 'again', JSON.stringify(attempted));
  return attempted.kind === 'again' ? (attempted.inMs ?? Number.NaN) : Number.NaN;
}

test('a receiver that always fails gets six requests, none before its time, and then the delivery fails', async (t) => {
  const { event, attempt, shown, receiver, pass, now } = await api.subscribe(status(500));
  pass(0);
  const delivery = await event();
  for (const [index, step] of steps.entries()) {
    const waitMs = waitOf(t, await attempt(delivery));
    t.true(waitMs >= step && waitMs <= step * 1.1, `${waitMs} for a step of ${step}`);
    const before = await shown(delivery);
    t.is(before.attempts.length, index + 1);
    const nextMs = Date.parse(before.next_attempt_at ?? '');
    t.is(nextMs, now().getTime() + waitMs);

    // As after a crash, when only the row has the wait.
    pass(waitMs - halfMinute);
    const early = await attempt(delivery);
    t.like(early, { kind: 'again', code: 'too_early' });
    const leftMs = waitOf(t, early);
    t.is(leftMs, halfMinute);
    t.deepEqual(await shown(delivery), before);
    pass(leftMs);
    t.is(now().getTime(), nextMs);
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

for (const position of [1, 6]) {
  test(`a receiver that accepts the event at attempt ${position} gets no other`, async (t) => {
    const refusals = Array.from({ length: position - 1 }, () => status(503));
    const subscribed = await api.subscribe(inTurn(...refusals, status(200)));
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

const inDate =
  (ms: number) =>
  (nowMs: number): string =>
    new Date(nowMs + ms).toUTCString();
const message = (shortest: number, longest: number): string =>
  shortest === longest ? `${shortest} s` : `${shortest} to ${longest} s`;
/** The `Retry-After` header, and the shortest and longest first wait after it, in seconds. */
const asked: Readonly<
  Record<string, readonly [string | ((nowMs: number) => string), number, number]>
> = {
  'more time than the usual wait': ['90', 90, 90],
  'a year': ['31536000', 120, 120],
  'a date in a year': [inDate(365 * 24 * 60 * minute), 120, 120],
  'less time than the usual wait': ['5', 60, 66],
  'something else': ['soon', 60, 66],
};
for (const [what, [header, shortest, longest]] of Object.entries(asked)) {
  test(`a receiver that asks for ${what} by Retry-After gets ${message(shortest, longest)}`, async (t) => {
    const { event, attempt, shown, receiver, now, pass } = await api.subscribe();
    pass(0);
    const retryAfter = typeof header === 'string' ? header : header(now().getTime());
    receiver.answer = status(429, { 'retry-after': retryAfter });
    const delivery = await event();

    const waitMs = waitOf(t, await attempt(delivery));

    t.true(waitMs >= shortest * 1000 && waitMs <= longest * 1000, `${waitMs} ms`);
    const { next_attempt_at: next, attempts } = await shown(delivery);
    const nextMs = Date.parse(next ?? '') - Date.parse(attempts[0]?.created_at ?? '');
    t.is(nextMs, waitMs);
  });
}

// The tests below wait in parallel for the real timeout of ten seconds.
const limitMs = 10_000;

/** Sends `drop` each second while the connection is open. */
const dripping =
  (head: string, drop: string): Answer =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(drop), 1000);
    socket.on('close', () => clearInterval(timer));
  };

async function mustTimeOut(
  t: ExecutionContext,
  { event, attempt, shown }: Subscription,
  egress = api.punctual.deps.egress,
): Promise<number> {
  const delivery = await event();
  const limited = withOptions(egress, ({ timeoutMs }) => {
    t.is(timeoutMs, limitMs);
    return {};
  });
  t.like(await attempt(delivery, { webhooks: limited }), { kind: 'again', code: 'timeout' });
  const { attempts } = await shown(delivery);
  t.is(attempts.length, 1);
  t.like(attempts[0], { number: 1, response_status: null, error: 'timeout' });
  return attempts[0]?.duration_ms ?? 0;
}

const silent: Readonly<Record<string, Answer>> = {
  'says nothing': () => undefined,
  'drips headers': dripping('HTTP/1.1 200 OK\r\n', 'a: b\r\n'),
  'only sends interim responses': dripping('', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
};
for (const [what, answer] of Object.entries(silent)) {
  test(`a receiver that accepts the request and ${what} times out after ten seconds`, async (t) => {
    const durationMs = await mustTimeOut(t, await api.subscribe(answer));
    t.true(durationMs > limitMs - 50, `${durationMs} ms`);
  });
}
