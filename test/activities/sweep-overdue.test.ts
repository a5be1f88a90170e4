import { newId } from '../../db/new-id.ts';
import type { WorkflowState } from '../../domain/workflow-state.ts';
import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import { storeUntold } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { sweepWorld } from './sweep-world.ts';

const test = needs('temporal');
const minutes = 60_000;

/** How long a busy machine may take to publish a post that is due. */
const patienceMs = 90_000;

test('an overdue post whose workflow sleeps until another time is found the second time, and goes out', async (t) => {
  const { network, punctual, client, schedule, sweep, finds } = await sweepWorld(t, fakeNetwork());
  const id = await schedule(60 * minutes);
  // As after a reset of the workflow to before it heard of the new time.
  await punctual.orm.em
    .fork()
    .execute('update posts set scheduled_at = ?, revision = 2, synced_revision = 2 where id = ?', [
      new Date(Date.now() - 2 * minutes),
      id,
    ]);

  t.like(await sweep(), { looked: 1, overdue: 0 });
  t.like(await sweep(minutes), { looked: 1, overdue: 1 });

  t.is((await client.finalPost(id, patienceMs)).status, 'published');
  t.is(network.live.length, 1);
  t.deepEqual(await finds(), [{ kind: 'overdue', post_id: id, delivery_id: null }]);
});

test('an overdue post that nothing moves is found every ten minutes, not every minute', async (t) => {
  const world = await sweepWorld(t, fakeNetwork(), { withoutWorkers: true });
  const { schedule, sweep, punctual } = world;
  await schedule(0);
  const found: number[] = [];
  for (let minute = 1; minute <= 24; minute += 1) {
    found.push((await sweep(minute * minutes)).overdue);
    // As the relay does, of which there is none here.
    await punctual.orm.em.fork().execute('update posts set synced_revision = revision');
  }

  t.is(found.indexOf(1), 1, found.join(' '));
  t.is(found.filter((count) => count === 1).length, 3, found.join(' '));
});

test('a post that was claimed and is tried by nobody is found, and not told of again', async (t) => {
  const { punctual, schedule, sweep, finds } = await sweepWorld(t, fakeNetwork(), {
    withoutWorkers: true,
  });
  const id = await schedule(0);
  const em = punctual.orm.em.fork();
  await em.execute(`update posts set status = 'publishing', updated_at = ?`, [new Date()]);

  t.like(await sweep(2 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(4 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(6 * minutes), { looked: 1, overdue: 1 });

  t.deepEqual(await finds(), [{ kind: 'overdue', post_id: id, delivery_id: null }]);
  const [row] = await em.execute<{ told: boolean }[]>(
    'select synced_revision = revision as told from posts',
  );
  t.true(row?.told);
});

test('a sweep looks at three hundred overdue posts and as many that sleep, the next one at the others', async (t) => {
  const world = await sweepWorld(t, fakeNetwork(), { withoutWorkers: true });
  const { punctual, client } = world;
  const { orm, deps } = punctual;
  for (let n = 0; n < 320; n += 1) {
    const times = [-10 * minutes + n, 30 * minutes + n].map((ms) => new Date(Date.now() + ms));
    await Promise.all(times.map((at) => storeUntold(punctual, client.workspaceId, at)));
  }

  await orm.em.fork().execute('update posts set synced_revision = revision');
  const asked: string[] = [];
  const ofPost = async (id: string): Promise<WorkflowState> => {
    asked.push(id);
    return 'running';
  };
  const workflows = { ...deps.workflows, ofPost };

  t.like(await sweepOnce({ ...deps, workflows }), { looked: 600, overdue: 0 });
  t.like(await sweepOnce({ ...deps, workflows }), { looked: 40, overdue: 0 });

  t.is(new Set(asked).size, 640);
});

test('a find is remembered for thirty days', async (t) => {
  const { punctual, client, sweep } = await sweepWorld(t, fakeNetwork(), { withoutWorkers: true });
  const em = punctual.orm.em.fork();
  const days = 24 * 60 * minutes;
  for (const age of [29, 31, 400]) {
    await em.execute(
      `insert into sweep_finds (id, workspace_id, post_id, kind, found_at) values (?, ?, ?, 'overdue', ?)`,
      [newId(), client.workspaceId, newId(), new Date(Date.now() - age * days)],
    );
  }

  await sweep();

  const [row] = await em.execute<{ count: number }[]>(
    'select count(*)::int as count from sweep_finds',
  );
  t.is(row?.count, 1);
});
