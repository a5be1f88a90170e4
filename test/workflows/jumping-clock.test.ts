import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { keepScheduled } from '../../worker/schedules.ts';
import { status } from '../support/answers.ts';
import { newClient } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { endOf } from '../support/end-of.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { isSignedWith } from '../support/receiver.ts';
import { openReceivers, type TestReceiver } from '../support/receivers.ts';
import { addFakeChannel } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { startTimeSkipping, startTimeSkippingServer } from '../support/time-skipping.ts';
import { untilBegun } from '../support/until-begun.ts';
import { timerEnds } from '../support/waits.ts';

const test = needs('test-server');
const receivers = beforeTests(test, openReceivers);
const minute = 60_000;
const day = 24 * 60 * minute;

test('a receiver that always fails gets retries after 1 min, 5 min, 30 min, 2 h and 6 h, and then the delivery fails', async (t) => {
  const receiver = receivers().receiver(status(500));
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
  t.is(receiver.arrived.length, 6);
  const steps = [1, 5, 30, 120, 360].map((minutes) => minutes * minute);
  t.is(punctual.deliveryWaitsMs.length, steps.length);
  t.true(
    punctual.deliveryWaitsMs.every((waitMs, index) => {
      const stepMs = steps[index] ?? 0;
      return waitMs >= stepMs && waitMs <= stepMs * 1.1;
    }),
    `asked of Temporal: ${punctual.deliveryWaitsMs.join(', ')} ms`,
  );
  mustWait(t, attemptedAtMs, steps);

  const [first, ...others] = receiver.arrived;
  for (const request of receiver.arrived) {
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
  // A delivery that fails adds two events: a marker and its search attribute.
  t.true((history.events?.length ?? 99) <= 14);
});

/** Checks that at least the wanted time passed between attempts. A busy machine adds to it. */
function mustWait(t: ExecutionContext, atMs: readonly number[], wantedMs: readonly number[]): void {
  const waits = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
  t.log(`waits in minutes: ${waits.map((wait) => (wait / minute).toFixed(2)).join(', ')}`);
  t.is(waits.length, wantedMs.length);
  for (const [index, wanted] of wantedMs.entries()) {
    const over = (waits[index] ?? 0) - wanted;
    t.true(over >= 0, `wait ${index + 1} is ${over} ms off`);
  }
}

/** Publishes a post with one subscribed endpoint and lets the clock jump until its delivery has ended. */
async function deliver(t: ExecutionContext, { url }: TestReceiver) {
  const network = fakeNetwork();
  const punctual = await startTimeSkipping(t, network, { allowPorts: [receivers().port] });
  const attemptedAtMs: number[] = [];
  const request = punctual.deps.webhooks.request.bind(punctual.deps.webhooks);
  punctual.deps.webhooks.request = async (...args) => {
    attemptedAtMs.push(await punctual.environment.currentTimeMs());
    return request(...args);
  };
  const client = await newClient(punctual);
  const hook = { url, events: ['post.published'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: [await addFakeChannel(punctual.deps, client.workspaceId)],
    schedule_in_minutes: 0,
  });
  const { workflow } = punctual.environment.client;
  await (await untilBegun(workflow.getHandle(`post-${body.post.id}`))).result();
  const [row] = await punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [
      client.workspaceId,
    ]);
  await endOf(workflow.getHandle(`delivery-${row?.id}`));
  return { punctual, client, webhook, attemptedAtMs };
}

test('a Temporal without schedules is asked for one once, and the failure is only logged', async (t) => {
  const environment = await startTimeSkippingServer(t);
  const lines: string[] = [];
  const log = testLog.child({});
  log.warn = (_what: object, line?: string) => void lines.push(line ?? '');
  const everyMs = 50;

  const stop = keepScheduled(environment.client, 'ours', log, [], everyMs);

  await poll(
    async () => lines.length,
    (count) => count > 0,
  );
  // A timer that was set before fires first, and `stop` waits for its callback.
  await sleep(everyMs);
  await stop();
  t.deepEqual(lines, ['the sweep could not be scheduled']);
});

test('a post that is scheduled a year ahead goes out in a year, and not before', async (t) => {
  const network = fakeNetwork();
  const sentAtMs: number[] = [];
  const punctual = await startTimeSkipping(t, network);
  const { environment } = punctual;
  const send = network.send.bind(network);
  network.send = async (...args) => {
    sentAtMs.push(await environment.currentTimeMs());
    return send(...args);
  };
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const dueAt = new Date(Date.now() + 365 * day);

  const { body } = await client.post('/posts', {
    body: 'Happy new year',
    channel_ids: [channel],
    scheduled_at: dueAt.toISOString(),
  });
  const handle = await untilBegun(environment.client.workflow.getHandle(`post-${body.post.id}`));
  t.is(await handle.result(), 'published');

  t.like(await client.finalPost(body.post.id), { status: 'published' });
  t.is(sentAtMs.length, 1);
  t.true((sentAtMs[0] ?? 0) >= dueAt.getTime());
  t.deepEqual(await timerEnds(handle), [dueAt.getTime()]);
});
