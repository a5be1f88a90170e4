import test from 'ava';
import { forEachLimit } from '../../runtime/concurrency.ts';
import { held, status } from '../support/answers.ts';
import { poll } from '../support/poll.ts';
import { countDeliveries, queueEvents } from '../support/seed-deliveries.ts';
import { sharedWebhooks, type Subscription } from '../support/webhooks.ts';
import { delivered, endpointWithHeldSlots, events } from './support/held-slots.ts';

const api = sharedWebhooks(test);

/** Concurrent attempts: fewer than in a worker, because a test's database has few connections. */
const slots = 16;

/** Stores `count` events. @returns their deliveries. */
async function queued(subscribed: Subscription, count: number): Promise<string[]> {
  await queueEvents(api.punctual, subscribed, count);
  const rows = await api.punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [
      subscribed.workspaceId,
    ]);
  subscribed.pass(3_600_000); // The deliveries are due by the database's clock, which runs on.
  return rows.map(({ id }) => id);
}

/** Makes one attempt of each, as a worker does that gets all tasks at once. */
function attemptAll({ attempt }: Subscription, deliveries: readonly string[]) {
  const delivering: string[] = [];
  const mustWait: string[] = [];
  const all = forEachLimit(deliveries, slots, async (id) => {
    const { kind } = await attempt(id);
    (kind === 'done' ? delivering : mustWait).push(id);
  });
  return {
    /** Resolves with the deliveries that found no slot, once there are `count`. */
    waiting: (count: number) =>
      poll(
        async () => mustWait,
        ({ length }) => length >= count,
      ),
    /** Resolves with the delivered ones once all attempts are over. */
    delivered: () => all.then(() => delivering),
  };
}

/**
 * Delivers all, more at a time than there are slots. An attempt without a slot is repeated when another delivery ends;
 * the product's wait does not matter here.
 */
async function deliverAll(
  { attempt }: Subscription,
  deliveries: readonly string[],
): Promise<number> {
  let end = Promise.withResolvers<void>();
  let count = 0;
  await forEachLimit(deliveries, 6, async (id) => {
    for (;;) {
      const nextEnd = end.promise;
      const attempted = await attempt(id);
      if (attempted.kind === 'done') {
        count += attempted.status === 'delivered' ? 1 : 0;
        end.resolve();
        end = Promise.withResolvers();
        return;
      }

      if (attempted.code !== 'endpoint_busy') {
        throw new Error(`An attempt ended with ${attempted.code}.`);
      }

      await nextEnd;
    }
  });
  return count;
}

test.serial(
  '1,000 events wait for a hanging receiver, and all arrive four at a time once it recovers',
  async (t) => {
    const { answer, waiting, most, release } = held();
    const hanging = await endpointWithHeldSlots(api, answer);
    const first = attemptAll(hanging, await queued(hanging, 1000));
    const others = await first.waiting(996);
    t.is(waiting(), 4);
    t.is(hanging.receiver.arrived.length, 4);
    release(status(204));
    t.is((await first.delivered()).length, 4);

    t.is(await deliverAll(hanging, others), 996);

    t.deepEqual(await countDeliveries(api.punctual, hanging), { delivered: 1000 });
    t.is(most(), 4);
    const { arrived } = hanging.receiver;
    t.is(new Set(arrived.map(({ headers }) => headers['service-event-id'])).size, 1000);
    t.is(arrived.length, 1000);
  },
);

test.serial(
  'many hanging endpoints of other workspaces on one host delay no event for an endpoint there',
  async (t) => {
    const { answer, waiting, lost, release } = held();
    const others = await Promise.all(Array.from({ length: 17 }, () => api.subscribe(answer)));
    const hanging = others.flatMap(({ event, attempt }) =>
      [1, 2, 3, 4].map(async () => attempt(await event())),
    );
    await Promise.all(others.map(({ receiver }) => receiver.nth(4)));
    const { event, attempt } = await api.subscribe(status(204));

    t.deepEqual(await attempt(await event()), { kind: 'done', status: 'delivered' });

    t.is(waiting(), 68);
    t.is(lost(), 0);
    release(status(204));
    t.true((await Promise.all(hanging)).every(({ kind }) => kind === 'done'));
  },
);

test('a hanging endpoint delays no other of the same workspace', async (t) => {
  const { answer, waiting, release } = held();
  const subscribed = await endpointWithHeldSlots(api, answer);
  const { client, workspaceId, attempt, receiver } = subscribed;
  const hanging = (await events(subscribed, 4)).map((id) => attempt(id));
  await receiver.nth(4);
  const healthy = api.receiver(status(204));
  const hook = { url: healthy.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  await subscribed.event();
  const [other] = await api.punctual.orm.em
    .fork()
    .execute<{ id: string }[]>(
      'select id from deliveries where endpoint_id = ? and workspace_id = ?',
      [id, workspaceId],
    );

  t.deepEqual(await attempt(other?.id ?? ''), delivered);

  t.is(waiting(), 4);
  t.is(healthy.arrived.length, 1);
  release(status(204));
  await Promise.all(hanging);
});
