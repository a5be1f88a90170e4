import { Client } from '@temporalio/client';
import { relayOnce, type RelayDeps } from '../../worker/relay.ts';
import { deliveryWorkflowId } from '../../workflows/messages.ts';
import { held, status } from '../support/answers.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';
import { sharedWebhooks, type Subscription } from '../support/webhooks.ts';
import { queueEvents } from '../support/seed-deliveries.ts';

const test = needs('temporal');
const api = sharedWebhooks(test);

type Endpoint = Pick<Subscription, 'workspaceId' | 'webhookId'>;

// A relay reads the outbox of all workspaces, and Temporal's fairness covers a whole queue, so the tests run serially.
// Only the first test has a worker, because the others leave deliveries behind.
test.beforeEach(async () => {
  await api.punctual.orm.em.fork().execute('update deliveries set synced_round = round');
});

const relay = (): RelayDeps => ({
  orm: api.punctual.orm,
  client: api.punctual.temporal.client,
  log: testLog,
});

function ask<Row>(sql: string, { workspaceId, webhookId }: Endpoint): Promise<Row[]> {
  const where = 'where workspace_id = ? and endpoint_id = ?';
  const em = api.punctual.orm.em.fork();
  return em.execute<Row[]>(`${sql} ${where}`, [workspaceId, webhookId]);
}

const unsynced = async (endpoint: Endpoint): Promise<number> => {
  const sql =
    'select count(*) filter (where synced_round < round)::int as unsynced from deliveries';
  return (await ask<{ unsynced: number }>(sql, endpoint))[0]?.unsynced ?? 0;
};

/** Stores `count` events for an endpoint and syncs their deliveries. @returns the deliveries' ids. */
async function syncEvents(endpoint: Endpoint, count: number): Promise<string[]> {
  await queueEvents(api.punctual, endpoint, count);
  await poll(
    () => relayOnce(relay()).then(() => unsynced(endpoint)),
    (left) => left === 0,
  );
  return (await ask<{ id: string }>('select id from deliveries', endpoint)).map(({ id }) => id);
}

async function historyOf(deliveryId: string) {
  const { workflow } = api.punctual.temporal.client;
  const handle = workflow.getHandle(deliveryWorkflowId(deliveryId));
  return (await handle.fetchHistory()).events ?? [];
}

/** When a worker took each workflow's first task, in milliseconds since 1970; Infinity before that. */
const turnsMs = (deliveryIds: readonly string[]): Promise<number[]> =>
  Promise.all(
    deliveryIds.map(async (id) => {
      const events = await historyOf(id);
      const taken = events.find((event) => event.workflowTaskStartedEventAttributes)?.eventTime;
      return taken
        ? Number(taken.seconds) * 1000 + (taken.nanos ?? 0) / 1e6
        : Number.POSITIVE_INFINITY;
    }),
  );

test.serial(
  'few of 100 replayed deliveries to a hanging endpoint start before 20 later ones of another workspace have started',
  async (t) => {
    const hanging = await api.subscribe(held().answer);
    const healthy = await api.subscribe(status(204));

    const slow = await syncEvents(hanging, 100);
    const quick = await syncEvents(healthy, 20);
    await startWorkers(t, api.punctual);
    await healthy.receiver.nth(20);

    const lastMs = Math.max(...(await turnsMs(quick)));
    const before = (await turnsMs(slow)).filter((atMs) => atMs <= lastMs).length;
    t.log(`${before} of the 100 before the last of the 20`);
    // Alternating turns would give 20 plus the running ones; five to one gives 4 plus the running ones.
    t.true(before > 0);
    t.true(before < 16);
  },
);

test.serial(
  'deliveries to two endpoints of a workspace take turns, and an endpoint with more waiting deliveries gets fewer turns',
  async (t) => {
    const { client, workspaceId, webhookId: first, receiver } = await api.subscribe();
    const hook = { url: receiver.url, events: ['post.failed'] };
    const { id: second } = (await client.post('/webhooks', hook)).body.webhook;

    const few = await syncEvents({ workspaceId, webhookId: first }, 4);
    const many = await syncEvents({ workspaceId, webhookId: second }, 40);

    const turnOf = async (id = ''): Promise<unknown> =>
      (await historyOf(id))[0]?.workflowExecutionStartedEventAttributes?.priority;
    t.like(await turnOf(few[0]), { fairnessKey: first, fairnessWeight: 1 });
    t.like(await turnOf(many[0]), { fairnessKey: second, fairnessWeight: Math.fround(0.1) });
  },
);

test.serial(
  '20 deliveries to one endpoint are synced before 500 older ones to another',
  async (t) => {
    const [theirs, mine] = [await api.subscribe(), await api.subscribe()];
    await queueEvents(api.punctual, theirs, 500);
    await queueEvents(api.punctual, mine, 20);
    // Accepts everything at once, so that the order does not depend on Temporal's speed.
    const { connection, namespace } = api.punctual.temporal;
    const takesAll = { signalWithStart: async () => 'run' };
    const client = new Client({ connection, namespace, interceptors: { workflow: [takesAll] } });

    t.is(await relayOnce({ ...relay(), client }), 50);

    t.is(await unsynced(mine), 0);
    t.is(await unsynced(theirs), 470);
  },
);
