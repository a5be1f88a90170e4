import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import { NetworkError } from '../../networks/network.ts';
import { readLatestRun } from '../../temporal/latest-run.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, heldNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { cancelledInDoubt } from './cancelled-in-doubt.ts';
import { sharedSweeps, untilChannelIs } from './sweeps.ts';
import type { ExecutionContext } from 'ava';
import { completeRestore } from '../../cli/admin/installation.ts';
import { readRestoreCounter } from '../../db/restore-counter.ts';

const test = needs('temporal');
const minutes = 60_000;
const sweeps = sharedSweeps(test, { workers: true });
const { newWorkspace, sweep, postHandle, deliveryHandle } = sweeps;

test.serial(
  'a sleeping post that Temporal no longer has, as after its store was deleted, goes out at its time, once',
  async (t) => {
    const network = fakeNetwork();
    const { client, lose } = await newWorkspace(t, network);
    const id = await lose();
    const { connection, namespace } = sweeps.punctual.temporal;
    const workflowExecution = { workflowId: postWorkflowId(id) };
    await connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await poll(
      () => readLatestRun(sweeps.punctual.temporal.client, id),
      (run) => run === null,
    );

    t.like(await sweep(), { looked: 1, workflowGone: 1, overdue: 0, deliveriesGone: 0 });

    const post = await client.finalPost(id);
    t.true(Date.parse(post.published_at ?? '') >= Date.parse(post.scheduled_at ?? ''));
    t.is(network.live.length, 1);
    t.like(await sweep(5 * minutes), { workflowGone: 0 });
  },
);

test.serial(
  'a post whose workflow was terminated after the network accepted it still ends, with one event',
  async (t) => {
    const network = heldNetwork();
    const workspace = await newWorkspace(t, network);
    const { client, schedule } = workspace;
    const id = await schedule(0);
    await network.held();
    await postHandle(id).terminate('lost');
    network.release();
    await untilChannelIs(workspace, id, 'published');
    t.is((await client.get(`/posts/${id}`)).body.post.status, 'publishing');

    t.like(await sweep(minutes), { workflowGone: 1 });

    t.is((await client.finalPost(id)).status, 'published');
    t.is(network.live.length, 1);
    t.is(network.sends.length, 1);
    t.is(await countEvents(id), 1);
  },
);

test.serial(
  'a post whose workflow was terminated while the send was in doubt is not sent twice',
  async (t) => {
    const network = fakeNetwork();
    const workspace = await newWorkspace(t, network);
    network.fates.push({ kind: 'lost' });
    network.blind = new NetworkError('network_unavailable', 'Down.', {
      accepted: 'no',
      retryAtMs: Date.now() + 60 * minutes,
    });
    const id = await workspace.schedule(0);
    await untilChannelIs(workspace, id, 'retrying');
    await postHandle(id).terminate('lost');
    network.blind = undefined;

    t.like(await sweep(minutes), { workflowGone: 1 });

    t.is((await workspace.client.finalPost(id)).status, 'published');
    t.is(network.live.length, 1);
    t.is(network.sends.length, 1);
  },
);

test.serial(
  'a cancelled send in doubt whose workflow was terminated is reconciled and ends',
  async (t) => {
    const { client, network, id } = await cancelledInDoubt(t, sweeps);
    await postHandle(id).terminate('lost');
    network.blind = undefined;

    t.like(await sweep(3 * minutes), { workflowGone: 1 });

    t.is((await client.finalPost(id)).status, 'published');
    t.is(network.sends.length, 1);
    t.is(await countEvents(id), 1);
    t.like(await sweep(5 * minutes), { looked: 0, workflowGone: 0 });
  },
);

const countEvents = async (postId: string): Promise<number> => {
  const sql = 'select id from events where post_id = ? and run is not null';
  return (await sweeps.punctual.orm.em.fork().execute<unknown[]>(sql, [postId])).length;
};

test.serial('a delivery whose workflow was terminated is delivered', async (t) => {
  const { client } = await newWorkspace(t, fakeNetwork());
  const { punctual, receiver } = sweeps;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const endpoint = (await client.post('/webhooks', hook)).body.webhook.id;
  const id = await storeDelivery(punctual, client.workspaceId, 'pending');
  t.like(await sweep(minutes), { looked: 0 }); // The post's workflow may be about to start it.

  t.like(await sweep(3 * minutes), { looked: 1, deliveriesGone: 1 });

  t.is((await client.finalDelivery(endpoint)).status, 'delivered');
  t.is(await deliveryHandle(id).result(), 'delivered');
  t.is(receiver.received.length, 1);
});

test.serial('a post that was cancelled while Temporal was queried is not found', async (t) => {
  const { client, schedule } = await newWorkspace(t, fakeNetwork());
  const { deps } = sweeps.punctual;
  const id = await schedule(5 * minutes);
  const ofPost = async (): Promise<'gone'> => {
    await client.post(`/posts/${id}/cancel`);
    return 'gone'; // True by then.
  };
  const workflows = { ...deps.workflows, ofPost };

  t.like(await sweepOnce({ ...deps, workflows }), { looked: 1, workflowGone: 0 });

  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test.serial('a post that is being sent for longer than usual is not found', async (t) => {
  const network = heldNetwork();
  const { client, schedule } = await newWorkspace(t, network);
  const id = await schedule(0);
  await network.held();

  t.like(await sweep(10 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(12 * minutes), { looked: 1, overdue: 0 });

  network.release();
  t.is((await client.finalPost(id)).status, 'published');
});

test.serial('of ten concurrent sweeps one finds the lost post', async (t) => {
  const network = fakeNetwork();
  const { client, lose } = await newWorkspace(t, network);
  const id = await lose();

  const swept = await Promise.all(Array.from({ length: 10 }, () => sweep()));

  t.deepEqual(
    swept.map(({ workflowGone }) => workflowGone).toSorted(),
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  );
  await client.finalPost(id);
  t.is(network.sends.length, 1);
});

/** Sets a due time in the past, without a sync. */
const makeOverdue = (id: string): Promise<unknown> =>
  sweeps.punctual.orm.em
    .fork()
    .execute('update posts set scheduled_at = ? where id = ?', [
      new Date(Date.now() - 3 * minutes),
      id,
    ]);

/** Waits until a workflow that was signalled sleeps with this revision. */
async function untilKnown(id: string, revision: number): Promise<void> {
  const { temporal, deps } = sweeps.punctual;
  await poll(
    async () => (await readLatestRun(temporal.client, id))?.revision,
    (known) => known === revision,
  );
  await poll(
    () => deps.workflows.ofPost(id),
    (seen) => seen === 'asleep',
  );
}

type Overdue = Pick<Awaited<ReturnType<typeof newWorkspace>>, 'client'> & {
  readonly network: FakeNetwork;
  readonly id: string;
};

/** Expects a sweep to wake the workflow. */
async function mustGoOut(
  t: ExecutionContext,
  { client, network, id }: Overdue,
  aheadMs = 0,
): Promise<void> {
  const state = () => sweeps.punctual.deps.workflows.ofPost(id);
  await poll(state, (seen) => seen === 'asleep');
  t.like(await sweep(aheadMs), { looked: 1, overdue: 1 });

  t.is((await client.finalPost(id)).status, 'published');
  t.is(network.live.length, 1);
}

test.serial(
  'an overdue post whose workflow sleeps until another time is woken by a sweep and goes out',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule } = await newWorkspace(t, network);
    const id = await schedule(60 * minutes);
    // As after a reset of the workflow to before the signal with the new time.
    await makeOverdue(id);

    await mustGoOut(t, { client, network, id });
  },
);

test.serial(
  'a post whose move to a later time was lost in a failover is not sent, and the workers stop',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule } = await newWorkspace(t, network);
    const id = await schedule(60 * minutes);
    const { orm, temporal } = sweeps.punctual;
    const behindSince = async () => (await readRestoreCounter(orm)).behindSince;
    const dueAt = new Date(Date.now() + 600 * minutes).toISOString();
    await postHandle(id).signal('reschedule', { revision: 4, dueAt });
    await untilKnown(id, 4);
    await makeOverdue(id);

    t.like(await sweep(), { looked: 1, overdue: 0 });
    t.not(await behindSince(), null);

    await completeRestore(orm, temporal.client, new Date());
    const post = await client.finalPost(id);
    t.is(post.channels[0]?.status, 'unconfirmed');
    t.is(network.sends.length, 0);
    t.is(await behindSince(), null);
  },
);

test.serial(
  'a cancelled send whose workflow waits for its next reconcile is left alone',
  async (t) => {
    const { network, id } = await cancelledInDoubt(t, sweeps);
    const events = async () => (await postHandle(id).fetchHistory()).events?.length;
    const before = await events();

    t.like(await sweep(6 * minutes), { looked: 1, overdue: 0 });
    t.like(await sweep(9 * minutes), { looked: 1, overdue: 0 });
    t.like(await sweep(20 * minutes), { looked: 1, overdue: 0 });

    t.is(await events(), before);
    t.is(network.sends.length, 1);
  },
);
