import test, { type ExecutionContext } from 'ava';
import type { DeliveryView } from '../../services/webhooks/read-deliveries.ts';
import { held, inTurn, status } from '../support/answers.ts';
import { isSignedWith } from '../support/receiver.ts';
import { sharedWebhooks, type Subscription } from '../support/webhooks.ts';

const api = sharedWebhooks(test);
const hour = 3_600_000;
const day = 24 * hour;
/** Longer than the longest first wait. */
const afterFirstWait = 130_000;

/** A delivery whose first attempt failed, at the time of its second one. */
async function failedOnce(subscribed: Subscription): Promise<string> {
  const { event, attempt, pass } = subscribed;
  const delivery = await event();
  await attempt(delivery);
  pass(afterFirstWait);
  return delivery;
}

test('a new URL applies from the next attempt on, and the old one gets no more requests', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const { client, attempt, receiver, secret } = subscribed;
  const delivery = await failedOnce(subscribed);
  const moved = api.receiver(status(204));
  t.is((await client.patch(subscribed.path, { url: moved.url })).status, 200);

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

  t.is(receiver.arrived.length, 1);
  const request = await moved.nth(1);
  t.is(request.body, receiver.arrived[0]?.body ?? '');
  t.true(await isSignedWith(secret, request));
});

test('a new secret signs the next attempt together with the old one, and after a day alone', async (t) => {
  const subscribed = await api.subscribe(inTurn(status(500), status(500), status(204)));
  const { client, attempt, receiver, secret, pass } = subscribed;
  const delivery = await failedOnce(subscribed);
  const { body } = await client.post(`${subscribed.path}/rotate`);
  const next: string = body.webhook.secret;

  await attempt(delivery);
  pass(day + hour);
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

  const [, during, after] = receiver.arrived;
  t.true(during && (await isSignedWith(secret, during)));
  t.is(during?.headers['webhook-signature']?.split(' ').length, 2);
  t.truthy(during?.headers['service-signature-next']);
  t.true(after && (await isSignedWith(next, after)));
  t.false(after && (await isSignedWith(secret, after)));
  t.is(after?.headers['webhook-signature']?.split(' ').length, 1);
  t.false('service-signature-next' in (after?.headers ?? {}));
});

test('a deleted endpoint gets no further attempts, and all of its rows are gone', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const { client, attempt, receiver } = subscribed;
  const delivery = await failedOnce(subscribed);
  t.is((await client.delete(subscribed.path)).status, 200);

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'gone' });

  t.is(receiver.arrived.length, 1);
  t.is((await client.get(subscribed.path)).status, 404);
});

test('an endpoint that is deleted during a request ends the delivery, whatever the receiver returns', async (t) => {
  for (const code of [204, 500]) {
    const { answer, release } = held();
    const subscribed = await api.subscribe(answer);
    const { client, event, attempt, receiver } = subscribed;
    const attempted = attempt(await event());
    await receiver.nth(1);
    t.is((await client.delete(subscribed.path)).status, 200);
    release(status(code));

    t.deepEqual(await attempted, { kind: 'done', status: 'gone' });
  }
});

test('an endpoint that is disabled between attempts gets no further ones, and the delivery fails with that error', async (t) => {
  const subscribed = await api.subscribe(inTurn(status(500), status(204)));
  const { client, attempt, shown, receiver } = subscribed;
  const delivery = await failedOnce(subscribed);
  await client.patch(subscribed.path, { enabled: false });

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'failed' });

  t.is(receiver.arrived.length, 1);
  const { attempts, ...seen } = await shown(delivery);
  t.like(seen, { status: 'failed', error: 'endpoint_disabled', next_attempt_at: null });
  t.is(attempts.length, 1);

  await client.patch(subscribed.path, { enabled: true });
  const replay = `${subscribed.path}/deliveries/${delivery}/replay`;
  t.is((await client.post(replay)).status, 202);
  subscribed.pass(hour); // The API uses the machine's clock.
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });
  t.like(await shown(delivery), { status: 'delivered', error: null });
});

const endpoint = async ({ client, path }: Subscription) => (await client.get(path)).body.webhook;

/** Makes all six attempts of an event at their times, within 8.6 to 9.5 hours. @returns how many were made. */
async function failFor({ attempt, pass }: Subscription, delivery: string): Promise<number> {
  for (let made = 1; ; made += 1) {
    const attempted = await attempt(delivery);
    if (attempted.kind === 'done') {
      return made;
    }

    pass(attempted.inMs ?? 0);
  }
}

/** An endpoint that has failed for five days, with one attempt left in one delivery. @returns that delivery. */
async function almostDisabled(t: ExecutionContext, subscribed: Subscription): Promise<string> {
  const { event, attempt, pass } = subscribed;
  t.is(await failFor(subscribed, await event()), 6);
  pass(5 * day - 12 * hour);
  const delivery = await event();
  for (let made = 1; made <= 5; made += 1) {
    const attempted = await attempt(delivery);
    t.is(attempted.kind, 'again');
    t.true((await endpoint(subscribed)).enabled);
    pass(attempted.kind === 'again' ? (attempted.inMs ?? 0) : 0);
  }

  return delivery;
}

test('an endpoint that failed for five days is disabled, with the time and the reason', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const began = subscribed.deps.now().getTime();
  const delivery = await almostDisabled(t, subscribed);

  t.deepEqual(await subscribed.attempt(delivery), { kind: 'done', status: 'failed' });

  const {
    enabled,
    disabled_at: at,
    disabled_reason: reason,
    failing_since: since,
  } = await endpoint(subscribed);
  t.is(enabled, false);
  t.is(reason, 'failing');
  t.true(Math.abs(Date.parse(since) - began) < hour);
  t.true(Date.parse(at) - Date.parse(since) >= 5 * day);
  t.true(Date.parse(at) <= subscribed.deps.now().getTime());
});

test('events for a disabled endpoint are stored as failed without a request, and a replay sends them once it is enabled', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const { client, path, event, attempt, receiver, shown } = subscribed;
  const last = await almostDisabled(t, subscribed);
  const underWay = await event();
  t.is((await attempt(underWay)).kind, 'again');
  await attempt(last);
  const before = receiver.arrived.length;

  t.is(await event(), '');
  subscribed.pass(hour);
  t.deepEqual(await attempt(underWay), { kind: 'done', status: 'failed' });

  t.is(receiver.arrived.length, before);
  const list = async (): Promise<DeliveryView[]> => (await client.get(path)).body.deliveries;
  const missed = (await list()).filter(({ error }) => error === 'endpoint_disabled');
  t.deepEqual(missed.map(({ attempts }) => attempts.length).toSorted(), [0, 1]);
  t.true(missed.every((each) => each.status === 'failed' && each.next_attempt_at === null));

  const replayAll = `${path}/replay?since=2020-01-01T00:00:00Z`;
  t.is((await client.post(replayAll)).body.code, 'webhook_disabled');
  t.true((await client.patch(path, { enabled: true })).body.webhook.enabled);
  receiver.answer = status(204);
  t.is((await client.post(replayAll)).body.replaying, 4);
  for (const { id } of await list()) {
    t.deepEqual(await attempt(id), { kind: 'done', status: 'delivered' });
    t.like(await shown(id), { status: 'delivered', error: null });
  }

  t.like(await endpoint(subscribed), { enabled: true, failing_since: null, disabled_at: null });
});

test('a success restarts the five days', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const { event, attempt, receiver, pass } = subscribed;
  await failFor(subscribed, await event());
  pass(4 * day);
  receiver.answer = status(200);
  t.deepEqual(await attempt(await event()), { kind: 'done', status: 'delivered' });
  t.is((await endpoint(subscribed)).failing_since, null);
  pass(2 * day);
  receiver.answer = status(500);
  const began = subscribed.deps.now().getTime();

  t.is(await failFor(subscribed, await event()), 6);

  const { enabled, failing_since: since } = await endpoint(subscribed);
  t.true(enabled);
  t.true(Math.abs(Date.parse(since) - began) < hour);
});
