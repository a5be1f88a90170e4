import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import { newId } from '../../db/new-id.ts';
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

test.serial(
  'after Temporal lost all workflows, every scheduled post goes out or sleeps again',
  async (t) => {
    const network = fakeNetwork();
    const { client, schedule, finds } = await newWorkspace(t, network);
    const days = 24 * 60 * minutes;
    const [now, soon, far] = [
      await schedule(1000),
      await schedule(30 * minutes),
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
    t.like(await sweepLater(anew, 3 * days - 50 * minutes), { workflowGone: 1 });
    await t.notThrowsAsync(untilBegun(handle(far)));
    t.is(network.live.length, 1);
    t.is((await finds()).length, 3);
    t.is((await handle(far).describe()).status.name, 'RUNNING');
  },
);

test.serial('nothing counts as lost while Temporal does not respond', async (t) => {
  const network = fakeNetwork();
  const { client, schedule, finds } = await newWorkspace(t, network);
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
  t.is(state, 'waiting');
  await gate.close();

  const later = () => new Date(Date.now() + minutes);
  const swept = await sweepOnce({ ...punctual.deps, workflows, now: later });
  t.like(swept, { looked: 0, unanswered: 2, workflowGone: 0, overdue: 0 });

  t.deepEqual(await finds(), []);
  await gate.open();
  await startWorkers(t, punctual);
  await Promise.all(ids.map((id) => client.finalPost(id)));
  t.is(network.sends.length, 2);
});

test.serial('drafts, finished posts and posts of the outbox are not scanned', async (t) => {
  const { client } = await newWorkspace(t, fakeNetwork());
  const { workspaceId } = client;
  const { em } = sweeps.punctual.orm;
  for (const status of ['draft', 'published', 'failed']) {
    const id = await storeUnsynced(sweeps.punctual, workspaceId, new Date());
    const update = 'update posts set status = ?, synced_revision = revision where id = ?';
    await em.fork().execute(update, [status, id]);
  }

  await storeUnsynced(sweeps.punctual, workspaceId, new Date());
  const sql = `select status, revision, synced_revision, checked_at, updated_at from posts
                 where workspace_id = ? order by id`;
  const rows = () => em.fork().execute(sql, [workspaceId]);
  const before = await rows();

  t.deepEqual(await sweep(10 * minutes), {
    looked: 0,
    unanswered: 0,
    workflowGone: 0,
    channelsAtRisk: 0,
    channelsLost: 0,
    overdue: 0,
    deliveriesGone: 0,
    forgotten: 0,
  });
  t.deepEqual(await rows(), before);
});

test.serial(
  'a post that was retried while its workflow was gone from Temporal belongs to the outbox',
  async (t) => {
    const { schedule, finds } = await newWorkspace(t, fakeNetwork());
    const id = await schedule(30 * minutes);
    await postHandle(id).terminate('lost');
    await sweeps.punctual.orm.em.fork().execute('update posts set revision = 2 where id = ?', [id]);

    t.like(await sweep(), { looked: 0 });
    t.deepEqual(await finds(), []);
  },
);

test.serial(
  'an overdue post without progress is found every ten minutes, not every minute',
  async (t) => {
    const { schedule } = await newWorkspace(t, fakeNetwork());
    const id = await schedule(0);
    const found: number[] = [];
    const begunMs = Date.now();
    for (let minute = 1; minute <= 24; minute += 1) {
      found.push((await sweep(minute * minutes, begunMs)).overdue);
      // As the relay does, which does not run here.
      await sweeps.punctual.orm.em
        .fork()
        .execute('update posts set synced_revision = revision where id = ?', [id]);
    }

    t.is(found.indexOf(1), 1, found.join(' '));
    t.is(found.filter((count) => count === 1).length, 3, found.join(' '));
  },
);

test.serial('posts that are found overdue at once are all counted', async (t) => {
  const { schedule } = await newWorkspace(t, fakeNetwork());
  await Promise.all([schedule(0), schedule(0), schedule(0)]);
  const begunMs = Date.now();

  t.like(await sweep(minutes, begunMs), { looked: 3, overdue: 0 });
  t.like(await sweep(2 * minutes, begunMs), { looked: 3, overdue: 3 });
});

test.serial('a claimed post without attempts is found, and not synced again', async (t) => {
  const { schedule, finds } = await newWorkspace(t, fakeNetwork());
  const id = await schedule(0);
  const em = sweeps.punctual.orm.em.fork();
  await em.execute(`update posts set status = 'publishing', updated_at = ? where id = ?`, [
    new Date(),
    id,
  ]);

  t.like(await sweep(2 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(4 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(6 * minutes), { looked: 1, overdue: 1 });

  t.deepEqual(await finds(), [{ kind: 'overdue', post_id: id, delivery_id: null }]);
  const [row] = await em.execute<{ synced: boolean }[]>(
    'select synced_revision = revision as synced from posts where id = ?',
    [id],
  );
  t.true(row?.synced);
});

test.serial('a find is kept for thirty days', async (t) => {
  const { client, finds } = await newWorkspace(t, fakeNetwork());
  const em = sweeps.punctual.orm.em.fork();
  const days = 24 * 60 * minutes;
  for (const age of [29, 31, 400]) {
    await em.execute(
      `insert into sweep_finds (id, workspace_id, post_id, kind, found_at) values (?, ?, ?, 'overdue', ?)`,
      [newId(), client.workspaceId, newId(), new Date(Date.now() - age * days)],
    );
  }

  await sweep();

  t.is((await finds()).length, 1);
});
