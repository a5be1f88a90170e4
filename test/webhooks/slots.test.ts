import test, { type ExecutionContext } from 'ava';
import { held, inTurn, status, type Answer } from '../support/answers.ts';
import { poll } from '../support/poll.ts';
import { sharedWebhooks, type AttemptedDelivery } from '../support/webhooks.ts';
import { delivered, endpointWithHeldSlots, events } from './support/held-slots.ts';

const api = sharedWebhooks(test);

const endpoint = (answer?: Answer) => endpointWithHeldSlots(api, answer);

type Busy = { readonly waiting: number; readonly heldMs: number };

/**
 * Checks that nothing was sent or counted, and that the retry comes before all waiting deliveries would have had a
 * slot.
 */
function assertChecksAgain(t: ExecutionContext, attempted: AttemptedDelivery, busy: Busy): void {
  t.like(attempted, { kind: 'again', code: 'endpoint_busy' });
  const inMs = waitOf(attempted);
  const mostMs = 100 + Math.max(200, (busy.waiting * busy.heldMs) / 4);
  t.true(inMs >= 100 && inMs <= mostMs, `${inMs} ms, ${mostMs} at most`);
}

const waitOf = (attempted: AttemptedDelivery): number =>
  (attempted.kind === 'again' && attempted.inMs) || 0;

/** Waits until `count` of these attempts have found no slot. */
function checkingAgain(
  all: readonly Promise<AttemptedDelivery>[],
  count: number,
): Promise<AttemptedDelivery[]> {
  const busy: AttemptedDelivery[] = [];
  for (const one of all) {
    void one.then((attempted) => attempted.kind === 'again' && busy.push(attempted));
  }

  return poll(
    async () => busy,
    ({ length }) => length >= count,
  );
}

test('a hanging receiver has four concurrent requests at most, and others try again without losing an attempt', async (t) => {
  const { answer, waiting, most, release } = held();
  const subscribed = await endpoint(answer);
  const { attempt, receiver, shown } = subscribed;
  const [fifth = '', sixth = '', ...first] = await events(subscribed, 6);
  const hanging = first.map((id) => attempt(id));
  await receiver.nth(4);

  for (const id of [fifth, sixth, fifth]) {
    assertChecksAgain(t, await attempt(id), { waiting: 6, heldMs: 0 });
  }

  t.is(waiting(), 4);
  t.like(await shown(fifth), { status: 'pending', attempts: [] });
  release(status(204));
  t.deepEqual(
    await Promise.all(hanging),
    first.map(() => delivered),
  );
  t.deepEqual(await attempt(fifth), delivered);
  t.deepEqual(await attempt(sixth), delivered);
  t.is(most(), 4);
  t.is((await shown(fifth)).attempts.length, 1);
});

test('when the first events of an endpoint come at once, four are sent', async (t) => {
  const { answer, most, waiting, release } = held();
  const subscribed = await endpoint(answer);
  const ids = await events(subscribed, 20);
  const all = ids.map((id) => subscribed.attempt(id));
  await subscribed.receiver.nth(4);
  const busy = await checkingAgain(all, 16);
  busy.forEach((attempted) => assertChecksAgain(t, attempted, { waiting: 20, heldMs: 0 }));
  t.is(waiting(), 4);
  release(status(204));
  const ends = await Promise.all(all);
  t.is(ends.filter(({ kind }) => kind === 'done').length, 4);
  t.is(most(), 4);
});

test('attempts look for slots less often the longer an endpoint hangs and the more wait for it, without those due in hours', async (t) => {
  const subscribed = await endpoint(status(500));
  const { attempt, receiver, hold } = subscribed;
  const later = await events(subscribed, 20);
  for (const id of later) {
    t.like(await attempt(id), { kind: 'again', code: 'http_error' });
  }

  const { answer, release } = held();
  receiver.answer = answer;
  const [waiting = '', ...first] = await events(subscribed, 5);
  const hanging = first.map((id) => attempt(id));
  await receiver.nth(24);
  await hold(8000);

  const waits: number[] = [];
  for (let check = 0; check < 20; check += 1) {
    const attempted = await attempt(waiting);
    assertChecksAgain(t, attempted, { waiting: 5, heldMs: 8000 });
    waits.push(waitOf(attempted));
  }

  t.true(Math.max(...waits) > 1000, waits.join());
  release(status(204));
  await Promise.all(hanging);
  t.deepEqual(await attempt(waiting), delivered);
});

test('each request releases its slot, however it ends', async (t) => {
  const { answer, release } = held();
  const subscribed = await endpoint();
  const { attempt, event, receiver } = subscribed;
  const ends = [
    status(204),
    status(500),
    status(307),
    inTurn((socket) => socket.resetAndDestroy()),
    inTurn((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')),
  ];
  for (let round = 0; round < 2; round += 1) {
    for (const end of ends) {
      receiver.answer = end;
      const attempted = await attempt(await event());
      t.not(attempted.kind === 'again' && attempted.code, 'endpoint_busy');
    }
  }

  receiver.answer = answer;
  const hanging = (await events(subscribed, 4)).map((id) => attempt(id));
  await receiver.nth(ends.length * 2 + 4);
  release(status(204));
  t.deepEqual(
    await Promise.all(hanging),
    hanging.map(() => delivered),
  );
});

test('an internal error at every attempt occupies no slot', async (t) => {
  const subscribed = await endpoint(status(204));
  const { attempt, event, deps } = subscribed;
  const request = () => Promise.reject(new TypeError('A bug.'));
  const egress = { ...deps.egress, request };
  for (const id of await events(subscribed, 6)) {
    await t.throwsAsync(attempt(id, { webhooks: egress }), { message: 'A bug.' });
  }

  t.deepEqual(await attempt(await event()), delivered);
});
