import type { ExecutionContext } from 'ava';
import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { storeUnsynced } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { cancelledInDoubt } from './cancelled-in-doubt.ts';
import { later, sharedSweeps, untilChannelIs } from './sweeps.ts';

const test = needs('temporal');
const minutes = 60_000;
const sweeps = sharedSweeps(test, { workers: true });
const { newWorkspace, sweep, postHandle } = sweeps;

/** Sets a due time in the past, without a sync. @param more Further assignments in SQL. */
const makeOverdue = (id: string, more = ''): Promise<unknown> =>
  sweeps.punctual.orm.em
    .fork()
    .execute(`update posts set scheduled_at = ?${more} where id = ?`, [
      new Date(Date.now() - 2 * minutes),
      id,
    ]);

/** Makes the post's workflow sleep for hours, as after a workflow reset or a restored Temporal. */
async function sleepAgain(workspaceId: string, postId: string): Promise<void> {
  const dueAt = new Date(Date.now() + 600 * minutes).toISOString();
  await sweeps.punctual.temporal.client.workflow.start('publishPost', {
    workflowId: postWorkflowId(postId),
    taskQueue: 'posts',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    args: [{ workspaceId, postId, revision: 1, dueAt }],
  });
  await untilBegun(postHandle(postId), 5);
}

type Overdue = Pick<Awaited<ReturnType<typeof newWorkspace>>, 'client' | 'finds'> & {
  readonly network: FakeNetwork;
  readonly id: string;
};

/** Expects the first sweep to do nothing, and the one a minute later to wake the workflow and record one find. */
async function mustGoOutAtSecondSweep(
  t: ExecutionContext,
  { client, network, finds, id }: Overdue,
  ahead = 0,
): Promise<void> {
  t.like(await sweep(ahead), { looked: 1, overdue: 0 });
  t.like(await sweep(ahead + minutes), { looked: 1, overdue: 1 });

  t.is((await client.finalPost(id)).status, 'published');
  t.is(network.live.length, 1);
  t.deepEqual(await finds(), [{ kind: 'overdue', post_id: id, delivery_id: null }]);
}

test.serial(
  'an overdue post whose workflow sleeps until another time is found by the second sweep and goes out',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule, finds } = await newWorkspace(t, network);
    const id = await schedule(60 * minutes);
    // As after a reset of the workflow to before the signal with the new time.
    await makeOverdue(id);

    await mustGoOutAtSecondSweep(t, { client, network, finds, id });
  },
);

test.serial(
  'a post whose workflow sleeps again during its publishing, as after a reset, goes out',
  async (t) => {
    const network = fakeNetwork();
    const workspace = await newWorkspace(t, network);
    const { client, schedule, finds } = workspace;
    network.fates.push(later());
    const id = await schedule(0);
    await untilChannelIs(workspace, id, 'retrying');
    await sleepAgain(client.workspaceId, id);

    await mustGoOutAtSecondSweep(t, { client, network, finds, id }, 6 * minutes);
  },
);

test.serial(
  'a post whose synced moves to later times were lost in a failover is found by the second sweep and goes out',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule, finds } = await newWorkspace(t, network);
    const id = await schedule(60 * minutes);
    const { orm, temporal } = sweeps.punctual;
    await makeOverdue(id);
    await syncPost(temporal.client, orm.em.fork(), {
      workspaceId: client.workspaceId,
      postId: id,
      status: 'scheduled',
      revision: 4,
      dueAt: new Date(Date.now() + 600 * minutes).toISOString(),
    });

    await mustGoOutAtSecondSweep(t, { client, network, finds, id });
  },
);

test.serial(
  'a cancelled send whose workflow sleeps until another time is found by the second sweep and ends',
  async (t) => {
    const { client, network, id, finds } = await cancelledInDoubt(t, sweeps);
    await sleepAgain(client.workspaceId, id);
    network.blind = undefined;

    t.like(await sweep(6 * minutes), { looked: 1, overdue: 0 });
    t.like(await sweep(7 * minutes), { looked: 1, overdue: 1 });

    t.is((await client.finalPost(id)).status, 'published');
    t.is(network.sends.length, 1);
    t.deepEqual(await finds(), [{ kind: 'overdue', post_id: id, delivery_id: null }]);
    t.like(await sweep(20 * minutes), { looked: 0, overdue: 0 });
  },
);

test.serial(
  'a cancelled send whose workflow waits for its next reconcile is left alone',
  async (t) => {
    const { network, id, finds } = await cancelledInDoubt(t, sweeps);
    const events = async () => (await postHandle(id).fetchHistory()).events?.length;
    const before = await events();

    t.like(await sweep(6 * minutes), { looked: 1, overdue: 0 });
    t.like(await sweep(7 * minutes), { looked: 1, overdue: 0 });
    t.like(await sweep(20 * minutes), { looked: 1, overdue: 0 });

    t.is(await events(), before);
    t.is(network.sends.length, 1);
    t.deepEqual(await finds(), []);
  },
);

test.serial('a sleeping post is left alone, and checked again after ten minutes', async (t) => {
  const { client, schedule, finds } = await newWorkspace(t, fakeNetwork());
  const id = await schedule(30 * minutes);
  const events = async (): Promise<number> =>
    (await postHandle(id).fetchHistory()).events?.length ?? 0;
  await untilBegun(postHandle(id), 5);
  const before = await events();

  t.like(await sweep(), { looked: 1, unanswered: 0, workflowGone: 0, overdue: 0 });
  t.like(await sweep(9 * minutes), { looked: 0 });
  t.like(await sweep(11 * minutes), { looked: 1, workflowGone: 0, overdue: 0 });

  // Once this post has its workflow, the relay has read the outbox again.
  const soon = new Date(Date.now() + 30 * minutes);
  const next = await storeUnsynced(sweeps.punctual, client.workspaceId, soon);
  await untilBegun(sweeps.punctual.temporal.client.workflow.getHandle(postWorkflowId(next)));
  t.is(await events(), before);
  t.deepEqual(await finds(), []);
});
