import test from 'ava';
import { isSignedWith } from '../../support/receiver.ts';
import { held, inTurn, status } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { Subscribed } from '../support/world.ts';

const world = sharedWorld(test);
const day = 24 * 3_600_000;
/** Past the longest first wait. */
const afterFirstWait = 130_000;

/** A delivery whose first attempt has failed, at the time of its second. */
async function failedOnce(subscribed: Subscribed): Promise<string> {
  const { event, attempt, pass } = subscribed;
  const delivery = await event();
  await attempt(delivery);
  pass(afterFirstWait);
  return delivery;
}

const pathOf = ({ webhookId }: Subscribed): string => `/webhooks/${webhookId}`;

test('a new URL counts from the next attempt on, and the old one hears no more', async (t) => {
  const subscribed = await world.subscribe(status(500));
  const { client, attempt, receiver, secret } = subscribed;
  const delivery = await failedOnce(subscribed);
  const moved = world.stage.receiver(status(204));
  t.is((await client.patch(pathOf(subscribed), { url: moved.url })).status, 200);

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

  t.is(receiver.arrived.length, 1);
  const request = await moved.nth(1);
  t.is(request.body, receiver.arrived[0]?.body ?? '');
  t.true(await isSignedWith(secret, request));
});

test('a new secret signs the next attempt beside the old one, and a day later alone', async (t) => {
  const subscribed = await world.subscribe(inTurn(status(500), status(500), status(204)));
  const { client, attempt, receiver, secret, pass } = subscribed;
  const delivery = await failedOnce(subscribed);
  const { body } = await client.post(`${pathOf(subscribed)}/rotate`);
  const next: string = body.webhook.secret;

  await attempt(delivery);
  pass(day + afterFirstWait);
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

test('an endpoint that is deleted between attempts gets nothing more, and nothing is left of it', async (t) => {
  const subscribed = await world.subscribe(status(500));
  const { client, attempt, receiver } = subscribed;
  const delivery = await failedOnce(subscribed);
  t.is((await client.delete(pathOf(subscribed))).status, 200);

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'gone' });

  t.is(receiver.arrived.length, 1);
  t.is((await client.get(pathOf(subscribed))).status, 404);
});

test('an endpoint that is deleted while a request is under way ends the delivery, whatever the receiver says', async (t) => {
  for (const code of [204, 500]) {
    const { answer, release } = held();
    const subscribed = await world.subscribe(answer);
    const { client, event, attempt, receiver } = subscribed;
    const attempted = attempt(await event());
    await receiver.nth(1);
    t.is((await client.delete(pathOf(subscribed))).status, 200);
    release(status(code));

    t.deepEqual(await attempted, { kind: 'done', status: 'gone' });
  }
});

test('an endpoint that is disabled between attempts gets nothing more: the delivery has failed and says why', async (t) => {
  const subscribed = await world.subscribe(inTurn(status(500), status(204)));
  const { client, attempt, shown, receiver } = subscribed;
  const delivery = await failedOnce(subscribed);
  await client.patch(pathOf(subscribed), { enabled: false });

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'failed' });

  t.is(receiver.arrived.length, 1);
  const { attempts, ...seen } = await shown(delivery);
  t.like(seen, { status: 'failed', error: 'endpoint_disabled', next_attempt_at: null });
  t.is(attempts.length, 1);

  await client.patch(pathOf(subscribed), { enabled: true });
  const replay = `${pathOf(subscribed)}/deliveries/${delivery}/replay`;
  t.is((await client.post(replay)).status, 202);
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });
  t.like(await shown(delivery), { status: 'delivered', error: null });
});

test('an endpoint that is disabled and enabled again before the next attempt misses nothing', async (t) => {
  const subscribed = await world.subscribe(inTurn(status(500), status(204)));
  const { client, attempt, shown } = subscribed;
  const delivery = await failedOnce(subscribed);
  await client.patch(pathOf(subscribed), { enabled: false });
  await client.patch(pathOf(subscribed), { enabled: true });

  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });
  t.is((await shown(delivery)).attempts.length, 2);
});

test('a request that is under way while its endpoint is disabled counts as what it was', async (t) => {
  const { answer, release } = held();
  const subscribed = await world.subscribe(answer);
  const { client, event, attempt, shown, receiver } = subscribed;
  const delivery = await event();
  const attempted = attempt(delivery);
  await receiver.nth(1);
  await client.patch(pathOf(subscribed), { enabled: false });
  release(status(204));

  t.deepEqual(await attempted, { kind: 'done', status: 'delivered' });
  t.like(await shown(delivery), { status: 'delivered', error: null });
});
