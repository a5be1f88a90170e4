import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import type { WorkflowState } from '../../domain/statuses.ts';
import { workflowStates } from '../../temporal/workflow-states.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { storeUnsynced } from '../support/seed.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { sharedSweeps, sweepLater } from './sweeps.ts';

const test = needs('temporal');
const minutes = 60_000;
const sweeps = sharedSweeps(test, { workers: false });
const { newWorkspace, sweep, postHandle } = sweeps;

/** Stores synced posts a millisecond apart. @returns their ids. */
async function storeSynced(workspaceId: string, posts: number, inMs: number): Promise<string[]> {
  const rows = await sweeps.punctual.orm.em.fork().execute<{ id: string }[]>(
    `insert into posts (id, workspace_id, body, status, scheduled_at, synced_revision, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', 'scheduled', ?::timestamptz + n * interval '1 millisecond', 1, now(), now()
     from generate_series(1, ?) n returning id`,
    [workspaceId, new Date(Date.now() + inMs), posts],
  );
  return rows.map(({ id }) => id);
}

/** A Temporal that answers at once. @returns also the ids that it was asked for, in order. */
function scriptedTemporal(stateOf: (id: string) => WorkflowState) {
  const asked: string[] = [];
  const of = async (id: string): Promise<WorkflowState> => {
    asked.push(id);
    return stateOf(id);
  };
  const workflows = { ofPost: of, ofDelivery: of, ofRemoval: of, knownOfPost: async () => null };
  const sweepIn = (inMs = 0) =>
    sweepOnce({ ...sweeps.punctual.deps, workflows, now: () => new Date(Date.now() + inMs) });
  return { asked, sweepIn };
}

test.serial(
  'after Temporal lost all workflows, every scheduled post goes out or sleeps again',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule } = await newWorkspace(t, network);
    const days = 24 * 60 * minutes;
    const [now, soon, far] = [
      await schedule(1000),
      await schedule(5 * minutes),
      await schedule(3 * days),
    ];

    const temporalEnv = await freshNamespace();
    const temporal = temporalClient(t, temporalEnv);
    const { punctual } = sweeps;
    const deps = { ...punctual.deps, workflows: workflowStates(temporal.client) };
    const anew = { ...punctual, temporal, temporalEnv, deps };
    await startWorkers(t, anew);
    t.like(await sweepLater(anew, 40_000), { looked: 2, workflowGone: 2 });

    t.is((await client.finalPost(now)).status, 'published');
    const handle = (id: string) => temporal.client.workflow.getHandle(postWorkflowId(id));
    await t.notThrowsAsync(untilBegun(handle(soon)));
    await t.throwsAsync(handle(far).describe(), { name: 'WorkflowNotFoundError' });
    t.like(await sweepLater(anew, 3 * days - 9 * minutes), { workflowGone: 1 });
    await t.notThrowsAsync(untilBegun(handle(far)));
    t.is(network.live.length, 1);
    t.is((await handle(far).describe()).status.name, 'RUNNING');
  },
);

test.serial('nothing counts as lost while Temporal does not respond', async (t) => {
  const network = fakeNetwork();
  const { client, schedule } = await newWorkspace(t, network);
  const { punctual } = sweeps;
  const { temporalEnv } = punctual;
  const gate = await tcpGate(t, targetOf(temporalEnv['TEMPORAL_ADDRESS'] ?? '', 7233));
  const cut = temporalClient(t, { ...temporalEnv, TEMPORAL_ADDRESS: gate.address });
  const workflows = workflowStates(cut.client);
  const ids = [await schedule(2000), await schedule(2000)];
  // The first call on a new connection may exceed its timeout.
  const state = await poll(
    () => workflows.ofPost(ids[0] ?? ''),
    (seen) => seen !== 'unknown',
  );
  t.is(state, 'busy');
  await gate.close();

  const swept = await sweepOnce({ ...punctual.deps, workflows });
  t.like(swept, { looked: 0, unanswered: 2, workflowGone: 0, overdue: 0 });

  await gate.open();
  await startWorkers(t, punctual);
  await Promise.all(ids.map((id) => client.finalPost(id)));
  t.is(network.sends.length, 2);
});

test.serial(
  'thousands of lost posts are found by one sweep, those that are due first before the others',
  async (t) => {
    const { client } = await newWorkspace(t, fakeNetwork());
    const overdue = await storeSynced(client.workspaceId, 600, -10 * minutes);
    const ahead = await storeSynced(client.workspaceId, 1000, 5 * minutes);
    await storeSynced(client.workspaceId, 5, 11 * minutes);
    const { asked, sweepIn } = scriptedTemporal(() => 'gone');

    t.like(await sweepIn(), { looked: 1600, workflowGone: 1600, unanswered: 0 });

    t.deepEqual(asked.slice(0, 600).toSorted(), overdue.toSorted());
    t.deepEqual(asked.slice(600).toSorted(), ahead.toSorted());
    t.like(await sweepIn(), { looked: 0 }); // They are in the outbox.
  },
);

test.serial(
  'a post is checked once before its time and every two minutes after it; what got no answer, by the next sweep',
  async (t) => {
    const { client } = await newWorkspace(t, fakeNetwork());
    await storeSynced(client.workspaceId, 20, 8 * minutes);
    const away = scriptedTemporal(() => 'unknown');
    const busy = scriptedTemporal(() => 'busy');

    t.like(await away.sweepIn(), { looked: 0 });
    t.true(away.asked.length <= 20);
    t.like(await busy.sweepIn(), { looked: 20, workflowGone: 0, overdue: 0 });
    t.like(await busy.sweepIn(7 * minutes), { looked: 0 });
    t.like(await busy.sweepIn(9 * minutes), { looked: 20, overdue: 0 });
    t.like(await busy.sweepIn(10 * minutes), { looked: 0 });
    // The next sweep but one, although it begins a moment earlier in its minute.
    t.like(await busy.sweepIn(11 * minutes - 1000), { looked: 20, overdue: 0 });
  },
);

test.serial('drafts, finished posts and posts of the outbox are not checked', async (t) => {
  const { client, schedule } = await newWorkspace(t, fakeNetwork());
  const { workspaceId } = client;
  const { em } = sweeps.punctual.orm;
  for (const status of ['draft', 'published', 'failed']) {
    const id = await storeUnsynced(sweeps.punctual, workspaceId, new Date());
    const update = 'update posts set status = ?, synced_revision = revision where id = ?';
    await em.fork().execute(update, [status, id]);
  }

  const retried = await schedule(5 * minutes);
  await postHandle(retried).terminate('lost');
  await em.fork().execute('update posts set revision = 2 where id = ?', [retried]);
  await storeUnsynced(sweeps.punctual, workspaceId, new Date());
  const sql = `select status, revision, synced_revision, checked_at, updated_at from posts
                 where workspace_id = ? order by id`;
  const rows = () => em.fork().execute(sql, [workspaceId]);
  const before = await rows();

  t.like(await sweep(10 * minutes), { looked: 0, unanswered: 0 });
  t.deepEqual(await rows(), before);
});
