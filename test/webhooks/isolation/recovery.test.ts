import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { held, status } from '../support/answers.ts';
import { countDeliveries, queueEvents } from '../support/queue-events.ts';
import { sharedWorld } from '../support/shared-world.ts';
import { workerSlots } from '../support/slots.ts';
import type { Subscribed } from '../support/world.ts';

const world = sharedWorld(test);

/** Below a request's ten seconds, so that the first four are answered as well. In milliseconds. */
const hangsForMs = 3000;

/** Stores so many events. @returns their deliveries. */
async function queued(subscribed: Subscribed, count: number): Promise<string[]> {
  await queueEvents(world.punctual, subscribed, count);
  const rows = await world.punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [
      subscribed.workspaceId,
    ]);
  return rows.map(({ id }) => id);
}

test.serial(
  '20 events of one workspace arrive while the first 4 of 100 of another still wait for an answer',
  async (t) => {
    const { answer, waiting, lost, release } = held();
    const [hanging, healthy] = [await world.subscribe(answer), await world.subscribe(status(204))];
    const [slow, quick] = [await queued(hanging, 100), await queued(healthy, 20)];
    const deliver = workerSlots();
    const all = slow.map((id) => deliver(hanging, id));
    await hanging.receiver.nth(4);

    const ends = await Promise.all(quick.map((id) => deliver(healthy, id)));

    t.is(waiting(), 4);
    t.is(lost(), 0);
    t.is(hanging.receiver.arrived.length, 4);
    t.is(ends.filter((end) => end === 'delivered').length, 20);
    release(status(204));
    t.deepEqual([...new Set(await Promise.all(all))], ['delivered']);
  },
);

test.serial(
  '1,000 events wait for a receiver that hangs; when it recovers all arrive, four at a time',
  async (t) => {
    const { answer, waiting, most, release } = held();
    const subscribed = await world.subscribe(answer);
    const ids = await queued(subscribed, 1000);
    const deliver = workerSlots();
    const all = ids.map((id) => deliver(subscribed, id));
    await subscribed.receiver.nth(4);
    await sleep(hangsForMs);
    t.is(waiting(), 4);
    t.is(subscribed.receiver.arrived.length, 4);
    release(status(204));

    const ends = await Promise.all(all);

    t.deepEqual([...new Set(ends)], ['delivered']);
    t.deepEqual(await countDeliveries(world.punctual, subscribed), { delivered: 1000 });
    t.is(most(), 4);
    const { arrived } = subscribed.receiver;
    t.is(new Set(arrived.map(({ headers }) => headers['service-event-id'])).size, 1000);
    t.is(arrived.length, 1000);
  },
);
