import type { ExecutionContext } from 'ava';
import { completeRestore } from '../../cli/admin/installation.ts';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { readLatestRun } from '../../temporal/latest-run.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { cancelledInDoubt } from './cancelled-in-doubt.ts';
import { sharedSweeps } from './sweeps.ts';

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
