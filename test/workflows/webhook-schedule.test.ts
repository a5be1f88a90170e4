import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { isSignedWith, startReceiver } from '../support/receiver.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { inTurn, status } from '../webhooks/support/answers.ts';
import { openStage } from '../webhooks/support/stage.ts';

const test = needs('test-server');
const minute = 60_000;

test('a receiver that always fails gets six attempts, at 1 min, 5 min, 30 min, 2 h and 6 h, then the delivery failed', async (t) => {
  const receiver = await startReceiver(t, () => 500);
  const { punctual, client, webhook, attemptedAtMs } = await deliver(t, receiver);

  const delivery = await client.finalDelivery(webhook.id);

  t.is(delivery.status, 'failed');
  t.is(delivery.next_attempt_at, null);
  t.deepEqual(
    delivery.attempts.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  );
  t.true(
    delivery.attempts.every(({ response_status: s, error }) => s === 500 && error === 'http_error'),
  );
  t.is(receiver.received.length, 6);
  const waits = waitsBetween(attemptedAtMs);
  t.log(`waits in minutes: ${waits.map((wait) => (wait / minute).toFixed(2)).join(', ')}`);
  for (const [index, wanted] of [1, 5, 30, 120, 360].entries()) {
    const over = (waits[index] ?? 0) - wanted * minute;
    t.true(
      over >= 0 && over < wanted * minute * 0.1 + 10_000,
      `wait ${index + 1} is ${over} ms off`,
    );
  }

  const [first, ...others] = receiver.received;
  for (const request of receiver.received) {
    t.true(await isSignedWith(webhook.secret, request));
  }

  t.true(others.every(({ body }) => body === first?.body)); // Byte for byte.
  t.true(
    others.every(
      ({ headers }) => headers['service-event-id'] === first?.headers['service-event-id'],
    ),
  );
  const history = await punctual.temporal.client.workflow
    .getHandle(`delivery-${delivery.id}`)
    .fetchHistory();
  t.log(`${history.events?.length} history events for six attempts`);
  t.true((history.events?.length ?? 99) <= 12);
});

test('a receiver that asks for time gets up to twice the step, and recovers at the third attempt: no more is sent', async (t) => {
  const stage = await openStage(t);
  const asks = (seconds: number) => status(503, { 'retry-after': String(seconds) });
  const receiver = stage.receiver(inTurn(asks(90), asks(1_000_000_000), status(200)));
  const { url } = receiver;
  const { client, webhook, attemptedAtMs } = await deliver(t, { url, port: stage.port });

  const delivery = await client.finalDelivery(webhook.id);

  t.like(delivery, { status: 'delivered', response_status: 200, error: null });
  t.deepEqual(
    delivery.attempts.map(({ response_status: code }) => code),
    [503, 503, 200],
  );
  t.is(receiver.arrived.length, 3);
  const waits = waitsBetween(attemptedAtMs);
  t.log(`waits in minutes: ${waits.map((wait) => (wait / minute).toFixed(2)).join(', ')}`);
  for (const [index, wanted] of [1.5, 10].entries()) {
    const over = (waits[index] ?? 0) - wanted * minute;
    t.true(over >= 0 && over < 10_000, `wait ${index + 1} is ${over} ms off`);
  }
});

const waitsBetween = (atMs: readonly number[]): number[] =>
  atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));

/** Publishes a post with one subscribed endpoint and lets the clock jump until its delivery has ended. */
async function deliver(
  t: Parameters<typeof startTimeSkipping>[0],
  receiver: { readonly url: string; readonly port: number },
) {
  const punctual = await startTimeSkipping(t, fakeNetwork(), { allowPorts: [receiver.port] });
  const attemptedAtMs: number[] = [];
  const request = punctual.deps.egress.request.bind(punctual.deps.egress);
  punctual.deps.egress.request = async (...args) => {
    attemptedAtMs.push(await punctual.environment.currentTimeMs());
    return request(...args);
  };
  const client = await newClient(punctual);
  const { body: hook } = await client.post('/webhooks', {
    url: receiver.url,
    events: ['post.published'],
  });
  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: [await addFakeChannel(punctual.deps, client.workspaceId)],
    schedule_in_minutes: 0,
  });
  const { workflow } = punctual.environment.client;
  await (await untilBegun(workflow.getHandle(`post-${body.post.id}`))).result();
  const [row] = await punctual.orm.em.execute<{ id: string }[]>('select id from deliveries');
  await workflow.getHandle(`delivery-${row?.id}`).result();
  return { punctual, client, webhook: hook.webhook, attemptedAtMs };
}
