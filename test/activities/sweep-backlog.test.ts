import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import type { WorkflowState } from '../../domain/statuses.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { storeMany } from '../support/seed-deliveries.ts';
import { sharedSweeps } from './sweeps.ts';

const test = needs('temporal');
const minutes = 60_000;
const sweeps = sharedSweeps(test, { workers: false });
const { newWorkspace, sweep } = sweeps;

/** Stores synced posts a millisecond apart, scanned a minute ago or never. @returns their ids. */
async function storeTold(workspaceId: string, posts: number, inMinutes: number): Promise<string[]> {
  const firstAt = new Date(Date.now() + inMinutes * minutes);
  const rows = await sweeps.punctual.orm.em.fork().execute<{ id: string }[]>(
    `insert into posts (id, workspace_id, body, status, scheduled_at, synced_revision, checked_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', 'scheduled', ?::timestamptz + n * interval '1 millisecond', 1,
       case when n % 2 = 0 then now() - interval '1 minute' end, now(), now()
     from generate_series(1, ?) n returning id`,
    [workspaceId, firstAt, posts],
  );
  return rows.map(({ id }) => id);
}

/** A fake Temporal. @param isListed Whether a list shows the id. @returns `asked`: the ids that were described. */
function pretendTemporal(
  isListed: (id: string) => boolean,
  stateOf: (id: string) => WorkflowState,
) {
  const asked: string[] = [];
  const of = async (id: string): Promise<WorkflowState> => {
    asked.push(id);
    return stateOf(id);
  };
  const list = async (ids: readonly string[]) => new Set(ids.filter(isListed));
  const workflows = { ofPost: of, ofDelivery: of, listPosts: list, listDeliveries: list };
  const run = () => sweepOnce({ ...sweeps.punctual.deps, workflows });
  return { asked, run };
}

test.serial(
  'one sweep finds all lost workflows, however many and whenever they were checked, nearest due time first',
  async (t) => {
    const { client, finds } = await newWorkspace(t, fakeNetwork());
    const overdue = await storeTold(client.workspaceId, 1200, -10);
    const ahead = await storeTold(client.workspaceId, 1800, 30);
    const { asked, run } = pretendTemporal(
      () => false,
      () => 'gone',
    );

    t.like(await run(), { looked: 3000, workflowGone: 3000, unanswered: 0 });

    t.deepEqual(asked.slice(0, 1200).toSorted(), overdue.toSorted());
    t.deepEqual(asked.slice(1200, 2200).toSorted(), ahead.slice(0, 1000).toSorted());
    t.is((await finds()).length, 3000);
    t.like(await run(), { looked: 0 });
  },
);

test.serial(
  'a lost delivery behind thousands that wait is found by the next sweep, which describes few of them',
  async (t) => {
    const { client, finds } = await newWorkspace(t, fakeNetwork());
    const em = sweeps.punctual.orm.em.fork();
    await client.post('/webhooks', { url: 'https://8.8.8.8/hook', events: ['post.failed'] });
    await storeMany(sweeps.punctual.orm, client.workspaceId, 4000);
    const rows = await em.execute<{ id: string }[]>(
      `update deliveries set status = 'pending' where workspace_id = ? returning id`,
      [client.workspaceId],
    );
    t.is(rows.length, 4000);
    const [lost] = await em.execute<{ id: string }[]>(
      'select id from deliveries where workspace_id = ? order by created_at desc limit 1',
      [client.workspaceId],
    );
    const isLost = (id: string): boolean => id === lost?.id;
    const { asked, run } = pretendTemporal(
      (id) => !isLost(id),
      (id) => (isLost(id) ? 'gone' : 'asleep'),
    );

    t.like(await run(), { looked: 4000, deliveriesGone: 1 });

    t.like(await finds(), [{ kind: 'delivery_gone', delivery_id: lost?.id }]);
    t.is(asked.length, 301);
  },
);

test.serial('lost posts that were checked a minute ago are found with the others', async (t) => {
  const { client } = await newWorkspace(t, fakeNetwork());
  await storeTold(client.workspaceId, 40, 30);
  const { run } = pretendTemporal(
    () => false,
    () => 'gone',
  );

  t.like(await run(), { workflowGone: 40 });
});

test.serial('a list that shows workflows which are gone is verified', async (t) => {
  const { client } = await newWorkspace(t, fakeNetwork());
  await storeTold(client.workspaceId, 1500, -10);
  const { run } = pretendTemporal(
    () => true,
    () => 'gone',
  );

  t.like(await run(), { workflowGone: 1500 });
});

test.serial('posts that a sweep could not check are checked by the next one', async (t) => {
  const { client } = await newWorkspace(t, fakeNetwork());
  await storeTold(client.workspaceId, 100, 30);
  const away = pretendTemporal(
    () => false,
    () => 'unknown',
  );
  const back = pretendTemporal(
    () => true,
    () => 'asleep',
  );

  const { looked, unanswered } = await away.run();
  t.is(looked, 0);
  t.true(unanswered < 40);

  t.like(await back.run(), { looked: 50 }); // The others were checked a minute ago.
});

test.serial(
  'a post that wakes up late, because thousands of its workspace are due in that second, is not overdue until then',
  async (t) => {
    const { client, schedule, finds } = await newWorkspace(t, fakeNetwork());
    const dueMs = Math.ceil(Date.now() / 1000) * 1000 + 10 * minutes + 500;
    const em = sweeps.punctual.orm.em.fork();
    await em.execute(
      `insert into posts (id, workspace_id, body, status, scheduled_at, synced_revision, checked_at, created_at, updated_at)
       select gen_random_uuid(), ?, 'x', 'scheduled', ?, 1, 'infinity', now(), now() from generate_series(1, 6000)`,
      [client.workspaceId, new Date(dueMs - 500)],
    );
    await schedule(dueMs - Date.now());

    for (const seconds of [40, 90, 125]) {
      t.like(await sweep(seconds * 1000, dueMs), { overdue: 0 }, `${seconds} s`);
    }

    t.deepEqual(await finds(), []);
    await sweep(240_000, dueMs);
    t.like(await sweep(300_000, dueMs), { overdue: 1 });
  },
);
