import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { createOrm } from '../../db/orm.ts';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { relayOnce } from '../../worker/relay.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { runOf } from './started-with.ts';

const test = needs('temporal');
const api = sharedApi(test); // Without a worker, the test's own relay is the only one.
const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

/** A post that was cancelled right after it was scheduled, with both changes unsynced. */
async function cancelledPost() {
  const { punctual } = api;
  const { workspaceId } = await api.newClient();
  await storeChannel(punctual, workspaceId);
  const postId = await storeUnsynced(punctual, workspaceId, dueAt);
  await cancelPost(punctual.deps, { workspaceId, postId });
  const { client: temporal } = punctual.temporal;
  const handle = temporal.workflow.getHandle(postWorkflowId(postId));
  const em = punctual.orm.em.fork();
  const scheduled = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
  const cancelled = { workspaceId, postId, status: 'draft', revision: 2, dueAt: null };
  return {
    postId,
    handle,
    em,
    scheduled,
    cancelled,
    start: () => syncPost(temporal, em, scheduled),
    /** The cancel's sync, with this workflow client. */
    cancel: (workflow: object, isStillSending = false) =>
      syncPost(Object.create(temporal, { workflow: { value: workflow } }) as Client, em, {
        ...cancelled,
        isStillSending,
      }),
    relay: () => relayOnce({ ...punctual, client: temporal, log: testLog }),
    isSynced: async (): Promise<boolean> => {
      const sql = 'select synced_revision = revision as synced from posts where id = ?';
      const [row] = await em.execute<{ synced: boolean }[]>(sql, [postId]);
      return row?.synced ?? false;
    },
    /** The signals that the newest workflow has received. */
    signals: async () => {
      const { events } = await handle.fetchHistory();
      return (events ?? []).flatMap(
        (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
      );
    },
  };
}

// A relay reads the outbox of all workspaces, so the tests run serially.

test.serial(
  'a cancel that overtook the start and is marked after it is repeated, and reaches the workflow',
  async (t) => {
    const { handle, start, cancel, relay, signals } = await cancelledPost();
    // The cancel finds no workflow. Before it marks the row, the start arrives and marks it.
    const signal = async (...args: [never, never]): Promise<void> => {
      const error = await t.throwsAsync(handle.signal(...args), {
        instanceOf: WorkflowNotFoundError,
      });
      await start();
      throw error;
    };
    await cancel({ getHandle: () => ({ signal }) });

    await relay();

    t.deepEqual(await signals(), ['cancel']);
  },
);

test.serial(
  'a cancel that ended a workflow is repeated when a start that it overtook creates another one',
  async (t) => {
    const { postId, handle, start, cancel, relay, signals, isSynced } = await cancelledPost();
    await start();
    const ended = await runOf(api.punctual, postId);
    // The cancel ends the workflow. Before it marks the row, the late start arrives and marks it.
    const signal = async (...args: [never, never]): Promise<void> => {
      await handle.signal(...args);
      await handle.terminate('as a worker would end it');
      await start();
    };
    await cancel({ getHandle: () => ({ signal }) });

    await relay();

    t.not(await runOf(api.punctual, postId), ended);
    t.deepEqual(await signals(), ['cancel']);
    t.true(await isSynced());
  },
);

test.serial(
  'a cancel that left a channel to be finished is repeated when a start that it overtook arrives afterwards',
  async (t) => {
    const { postId, handle, start, cancel, relay, signals, isSynced } = await cancelledPost();
    await start();
    const ended = await runOf(api.punctual, postId);
    const { workflow } = api.punctual.temporal.client;
    const signalWithStart = async (...args: [never, never]): Promise<void> => {
      await workflow.signalWithStart(...args);
      await handle.terminate('as a worker would end it when the channel is finished');
      await start();
    };
    await cancel({ signalWithStart }, true);

    await relay();

    t.not(await runOf(api.punctual, postId), ended);
    t.deepEqual(await signals(), ['cancel']);
    t.true(await isSynced());
  },
);

test.serial(
  'a cancel whose workflow updated the row before it ended is repeated once',
  async (t) => {
    const { postId, handle, em, start, cancel, relay, isSynced } = await cancelledPost();
    await start();
    const signal = async (...args: [never, never]): Promise<void> => {
      await handle.signal(...args);
      await em.execute('update posts set updated_at = now() where id = ?', [postId]);
      await handle.terminate('as a worker would end it');
    };
    await cancel({ getHandle: () => ({ signal }) });
    t.false(await isSynced());

    t.is(await relay(), 1);

    t.true(await isSynced());
    t.is(await relay(), 0);
  },
);

test('posts that get no database connection are not logged as refused by Temporal, and are synced by the next relay', async (t) => {
  const { punctual } = api;
  const { workspaceId } = await api.newClient();
  await storeChannel(punctual, workspaceId);
  for (let stored = 0; stored < 2; stored += 1) {
    await storeUnsynced(punctual, workspaceId, dueAt);
  }

  // The relay's own transaction holds the only connection.
  const orm = createOrm(punctual.databaseUrl, { poolSize: 1, connectTimeoutMs: 200 });
  t.teardown(() => orm.close());
  const connect = () =>
    orm.em
      .fork()
      .execute('select 1')
      .catch(() => null);
  await poll(connect, (rows) => rows !== null); // A busy machine may need longer than the timeout.
  const lines: string[] = [];
  const log = testLog.child({});
  log.warn = (_what: object, line?: string) => void lines.push(line ?? '');

  t.is(await relayOnce({ orm, client: punctual.temporal.client, log }), 0);
  t.deepEqual(lines, ['the database did not answer: this post and others are synced later']);

  await relayOnce({ ...punctual, client: punctual.temporal.client, log });
  const rows = await punctual.orm.em
    .fork()
    .execute('select 1 from posts where workspace_id = ? and synced_revision = revision', [
      workspaceId,
    ]);
  t.is(rows.length, 2);
});
