import type { ExecutionContext } from 'ava';
import { completeRestore } from '../../cli/admin/installation.ts';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { readLatestRun } from '../../temporal/latest-run.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { untilBegun } from '../support/until-begun.ts';
import { cancelledInDoubt } from './cancelled-in-doubt.ts';
import { later, sharedSweeps, untilChannelIs } from './sweeps.ts';

const test = needs('temporal');
const minutes = 60_000;
const sweeps = sharedSweeps(test, { workers: true });
const { newWorkspace, sweep, postHandle } = sweeps;

/** Sets a due time in the past, without a sync. */
const makeOverdue = (id: string): Promise<unknown> =>
  sweeps.punctual.orm.em
    .fork()
    .execute('update posts set scheduled_at = ? where id = ?', [
      new Date(Date.now() - 3 * minutes),
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
  'a post whose workflow sleeps again during its publishing, as after a reset, goes out',
  async (t) => {
    const network = fakeNetwork();
    const workspace = await newWorkspace(t, network);
    const { client, schedule } = workspace;
    network.fates.push(later());
    const id = await schedule(0);
    await untilChannelIs(workspace, id, 'retrying');
    await sleepAgain(client.workspaceId, id);

    await mustGoOut(t, { client, network, id }, 6 * minutes);
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
  'a revision that only a person can have signalled to a post stops nothing, and an edit sends it',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule } = await newWorkspace(t, network);
    const id = await schedule(60 * minutes);
    const revision = 2 ** 31 - 1;
    const dueAt = new Date(Date.now() + 600 * minutes).toISOString();
    await postHandle(id).signal('reschedule', { revision, dueAt });
    await untilKnown(id, revision);
    await makeOverdue(id);

    t.like(await sweep(), { looked: 1, overdue: 1 });
    t.is((await readRestoreCounter(sweeps.punctual.orm)).behindSince, null);

    await client.post(`/posts/${id}/cancel`);
    await postHandle(id).terminate('test');
    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    t.is((await client.finalPost(id)).status, 'published');
    t.is(network.live.length, 1);
  },
);

test.serial(
  'a cancelled send whose workflow sleeps until another time is woken by a sweep and ends',
  async (t) => {
    const { client, network, id } = await cancelledInDoubt(t, sweeps);
    await sleepAgain(client.workspaceId, id);
    network.blind = undefined;

    t.like(await sweep(6 * minutes), { looked: 1, overdue: 1 });

    t.is((await client.finalPost(id)).status, 'published');
    t.is(network.sends.length, 1);
    t.like(await sweep(20 * minutes), { looked: 0, overdue: 0 });
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
