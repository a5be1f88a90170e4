import test from 'ava';
import { purgeExpired } from '../../activities/sweep/sweep.ts';
import { sharedApi } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { storeDelivery, storeMany } from '../support/seed-deliveries.ts';

const day = 24 * 3_600_000;
const now = new Date('2027-03-01T09:00:00.000Z');
const aged = (days: number): Date => new Date(now.getTime() - days * day);
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

// A purge covers all workspaces and each test counts the rows, so the tests run serially.
const api = sharedApi(test);
test.afterEach.always(async () => {
  await api.punctual.orm.em.fork().execute('truncate events, deliveries, delivery_attempts');
});

const purge = (): Promise<number> => purgeExpired({ ...api.punctual.deps, now: () => now });

async function counts() {
  const count = async (table: string): Promise<number> => {
    const sql = `select count(*)::int as count from ${table}`;
    const [row] = await api.punctual.orm.em.fork().execute<{ count: number }[]>(sql);
    return row?.count ?? -1;
  };
  return {
    events: await count('events'),
    deliveries: await count('deliveries'),
    attempts: await count('delivery_attempts'),
  };
}

/** A workspace with one endpoint. */
async function newEndpoint() {
  const client = await api.newClient();
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  return { client, path: `/webhooks/${id}` };
}

test.serial(
  'a pending delivery stays with its event, however old, and is purged once it has ended',
  async (t) => {
    const { client, path } = await newEndpoint();
    const { punctual } = api;
    const id = await storeDelivery(punctual, client.workspaceId, 'failed', aged(60));
    await storeDelivery(punctual, client.workspaceId, 'pending', aged(90));
    t.is((await client.post(`${path}/deliveries/${id}/replay`)).status, 202);

    t.is(await purge(), 0);
    t.deepEqual(await counts(), { events: 2, deliveries: 2, attempts: 6 });

    await punctual.orm.em.fork().execute(`update deliveries set status = 'failed'`);
    // Repeated, because a purge skips the delivery while its replay is being synced to Temporal.
    let purged = 0;
    await poll(
      async () => (purged += await purge()),
      (all) => all >= 4,
    );
    t.is(purged, 4);
    t.deepEqual(await counts(), { events: 0, deliveries: 0, attempts: 0 });
  },
);

test.serial('a delivery that is just being replayed is not purged', async (t) => {
  const { client } = await newEndpoint();
  const { punctual } = api;
  const id = await storeDelivery(punctual, client.workspaceId, 'failed', aged(60));
  const replaying = punctual.orm.em.fork();
  await replaying.begin();
  await replaying.execute(`update deliveries set status = 'pending' where id = ?`, [id]);
  let isOver = false;
  const purging = purge().finally(() => {
    isOver = true;
  });
  // A purge that waited for this row would delete it afterwards.
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await poll(
    async () => isOver || (await punctual.orm.em.fork().execute<unknown[]>(waiting)).length > 0,
    Boolean,
  );
  await replaying.commit();
  await purging;

  t.like(await counts(), { events: 1, deliveries: 1 });
});

test.serial(
  'an event stays until its last delivery is purged, and one without deliveries is purged by its age',
  async (t) => {
    const { client } = await newEndpoint();
    const { punctual } = api;
    await client.post('/webhooks', hook);
    await storeDelivery(punctual, client.workspaceId, 'failed', aged(60)); // To both endpoints.
    const endpoints = (await client.get('/webhooks')).body.webhooks;
    for (const { id } of endpoints) {
      await client.patch(`/webhooks/${id}`, { events: ['webhook.test'] });
    }

    await t.throwsAsync(storeDelivery(punctual, client.workspaceId, 'failed', aged(40)));
    t.deepEqual(await counts(), { events: 2, deliveries: 2, attempts: 6 });

    t.is(await purge(), 2); // One of the two deliveries is pending.
    t.deepEqual(await counts(), { events: 1, deliveries: 1, attempts: 0 });
  },
);

test.serial(
  'one sweep purges ten thousand deliveries, oldest first, and the next one continues',
  async (t) => {
    const { client, path } = await newEndpoint();
    const { punctual } = api;
    await storeMany(punctual.orm, client.workspaceId, 10_050);

    t.is(await purge(), 20_000);
    t.deepEqual(await counts(), { events: 50, deliveries: 50, attempts: 50 });
    const { deliveries } = (await client.get(`${path}/deliveries`)).body;
    t.is(deliveries.at(-1).created_at, '2026-01-07T22:41:00.000Z'); // Number 10,001.

    t.is(await purge(), 100);
    t.deepEqual(await counts(), { events: 0, deliveries: 0, attempts: 0 });
  },
);

test.serial('concurrent sweeps purge everything once', async (t) => {
  const { client } = await newEndpoint();
  const { punctual } = api;
  await storeMany(punctual.orm, client.workspaceId, 3000);

  const gone = await Promise.all([purge(), purge(), purge()]);

  const left = await purge();
  t.is(
    gone.reduce((sum, one) => sum + one, left),
    6000,
  );
  t.deepEqual(await counts(), { events: 0, deliveries: 0, attempts: 0 });
});

test.serial('used allowances are purged once their day is over', async (t) => {
  const { workspaceId } = await api.newClient();
  const { em } = api.punctual.orm;
  await em.fork().execute(
    `insert into network_use (workspace_id, platform, day, used)
      values (?, 'x', '2027-02-27', 3), (?, 'x', '2027-02-28', 3), (?, 'x', '2027-03-01', 3)`,
    [workspaceId, workspaceId, workspaceId],
  );

  t.is(await purge(), 2);
  t.is(await purge(), 0);
  const left = await em
    .fork()
    .execute('select day::text from network_use where workspace_id = ?', [workspaceId]);
  t.deepEqual(left, [{ day: '2027-03-01' }]);
});
