import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startWorkerProcess } from '../../support/worker-process.ts';
import { held, status } from '../support/answers.ts';
import { countDeliveries, queueEvents } from '../support/queue-events.ts';
import { startWorld } from '../support/world.ts';

const test = needs('temporal');
/** What a busy machine lets hang for ten seconds comes again after a minute. */
const patienceMs = 140_000;

test('two workers send a receiver that hangs no more than four of 100 events at a time, and 20 for another workspace meanwhile', async (t) => {
  const { punctual, stage, subscribe } = await startWorld(t);
  const { answer, most, lost, release } = held();
  const hanging = await subscribe(answer);
  const healthy = await subscribe(status(204));
  const ports = [stage.port];
  await Promise.all([
    startWorkerProcess(t, punctual, ports),
    startWorkerProcess(t, punctual, ports),
  ]);
  await queueEvents(punctual, hanging, 100);
  await hanging.receiver.nth(4);

  const queuedAt = performance.now();
  await queueEvents(punctual, healthy, 20);
  await healthy.receiver.nth(20);

  // Nothing was answered there until now. On a busy machine some may have had their ten seconds.
  t.log(`${Math.round(performance.now() - queuedAt)} ms until the twentieth; ${lost()} gave up`);
  t.true(hanging.receiver.arrived.length <= 4 + lost());

  release(status(204));
  const seen = await poll(
    async () => [
      await countDeliveries(punctual, hanging),
      await countDeliveries(punctual, healthy),
    ],
    ([first]) => first?.['delivered'] === 100,
    patienceMs,
  );
  t.deepEqual(seen, [{ delivered: 100 }, { delivered: 20 }]);
  t.is(most(), 4);
  const ids = hanging.receiver.arrived.map(({ headers }) => headers['service-event-id']);
  t.is(new Set(ids).size, 100);
  t.is(ids.length, 100 + lost());
  t.is(healthy.receiver.arrived.length, 20);
});
