import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { isSignedWith } from '../../support/receiver.ts';
import { killed, startWorkerProcess } from '../../support/worker-process.ts';
import { held, status } from '../support/answers.ts';
import { countDeliveries, queueEvents } from '../support/queue-events.ts';
import { startWorld } from '../support/world.ts';

const test = needs('temporal');
/** A dead worker's requests are taken over half a minute after they began. */
const patienceMs = 120_000;

test('a worker is killed between sending and writing down: the same events come once more, and each counts one attempt', async (t) => {
  const { punctual, stage, subscribe } = await startWorld(t);
  const { answer, most } = held();
  const subscribed = await subscribe(answer);
  const { client, webhookId, receiver, secret } = subscribed;
  const first = await startWorkerProcess(t, punctual, [stage.port]);
  await queueEvents(punctual, subscribed, 4);
  await receiver.nth(4);
  t.is(most(), 4);
  await killed(first);
  receiver.answer = status(204);

  await startWorkerProcess(t, punctual, [stage.port]);
  await poll(
    () => countDeliveries(punctual, subscribed),
    ({ delivered }) => delivered === 4,
    patienceMs,
  );

  const arrivals = Map.groupBy(receiver.arrived, ({ headers }) => headers['service-event-id']);
  t.is(arrivals.size, 4);
  for (const [before, after, ...more] of arrivals.values()) {
    t.deepEqual(more, []); // At most one request too many.
    t.is(after?.body, before?.body);
    t.true(after && (await isSignedWith(secret, after)));
  }

  const { deliveries } = (await client.get(`/webhooks/${webhookId}`)).body;
  t.is(deliveries.length, 4);
  for (const { status: end, attempts } of deliveries) {
    t.is(end, 'delivered');
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: 204, error: null });
  }
});
