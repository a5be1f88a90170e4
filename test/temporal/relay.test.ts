import { isDeepStrictEqual } from 'node:util';
import { relayOnce, startRelay, type RelayDeps } from '../../worker/relay.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import type { Client } from '../support/client.ts';
import { heldClock } from '../support/database-clock.ts';
import { ownPool, sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import type { Punctual } from '../support/punctual.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { testLog } from '../support/temporal.ts';
import { runOf, startedWith } from './started-with.ts';

const test = needs('temporal');
// The relays use its patient client, too, so that no row is synced twice while a busy Temporal has not responded.
const api = sharedApi(test);

const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

// A relay reads the outbox of all workspaces, so the tests run serially, each with an empty outbox.
test.beforeEach(async () => {
  // Locks in order, because behind PgBouncer the tests of other files run in parallel, each with this hook.
  await api.punctual.orm.em.fork().execute(
    `update posts set synced_revision = revision where id in (
       select id from posts where synced_revision <> revision order by id for update)`,
  );
});

/** A workspace with a channel. No worker runs. */
async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  await storeChannel(punctual, client.workspaceId);
  const deps: RelayDeps = { ...punctual, client: punctual.temporal.client, log: testLog };
  const store = (): Promise<string> => storeUnsynced(punctual, client.workspaceId, dueAt);
  const sync = (relays = 1): Promise<number[]> => syncAll(client, deps, { relays });
  const schedule = async (): Promise<string> => {
    const id = await store();
    await sync();
    return id;
  };
  return { punctual, client, deps, store, sync, schedule };
}

type RelayRun = { readonly relays?: number; readonly graceMs?: number; readonly left?: string[] };

/** Runs relays in parallel until only these posts are left. @returns how many posts each run synced. */
async function syncAll(client: Client, deps: RelayDeps, options: RelayRun): Promise<number[]> {
  const { relays = 1, graceMs = 0, left = [] } = options;
  const synced: number[] = [];
  const relay = (): Promise<number> => relayOnce(deps, { graceMs });
  await poll(
    async () => {
      synced.push(...(await Promise.all(Array.from({ length: relays }, relay))));
      return unsynced(client);
    },
    (ids) => isDeepStrictEqual(ids, left),
  );
  return synced;
}

async function signalsTo({ temporal }: Punctual, id: string): Promise<string[]> {
  const { events } = await temporal.client.workflow.getHandle(postWorkflowId(id)).fetchHistory();
  return (events ?? []).flatMap(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
  );
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

async function unsynced({ workspaceId }: Client): Promise<string[]> {
  const sql = 'select id from posts where workspace_id = ? and synced_revision < revision';
  const rows = await api.punctual.orm.em.fork().execute<{ id: string }[]>(sql, [workspaceId]);
  return rows.map(({ id }) => id);
}

const markUnsynced = ({ workspaceId }: Client): Promise<unknown> =>
  api.punctual.orm.em
    .fork()
    .execute('update posts set synced_revision = 0 where workspace_id = ?', [workspaceId]);

const holds = (value: unknown, text: string): boolean =>
  value instanceof Uint8Array || typeof value === 'string'
    ? Buffer.from(value).includes(text)
    : value !== null &&
      typeof value === 'object' &&
      Object.values(value).some((field) => holds(field, text));

/** Schedules a post and waits until the API has synced it. No relay runs. */
async function toldByApi(client: Client): Promise<string> {
  const { body: mine } = await client.get('/channels');
  const channels = mine.channels.map(({ id }: { id: string }) => id);
  const post = { body: 'secret words', channel_ids: channels, scheduled_at: dueAt };
  const { id } = (await client.post('/posts', post)).body.post;
  await poll(
    () => unsynced(client),
    (ids) => !ids.includes(id),
  );
  return id;
}

test.serial(
  'a scheduled post is synced right after the response, with ids and times only',
  async (t) => {
    const { punctual, client } = await workspace();
    const id = await toldByApi(client);
    const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
    t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
    const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
    const history = await handle.fetchHistory();
    t.true(holds(history, id));
    t.false(holds(history, 'secret words'));
  },
);

test.serial('the relay starts a post whose start was lost, with the same input', async (t) => {
  const { punctual, client, deps, store, sync } = await workspace();
  const id = await store();
  t.is(await runOf(punctual, id), null);

  t.is(sum(await sync()), 1);

  const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
  t.is(await relayOnce(deps), 0);
});

test.serial('a terminated workflow runs again when its post is synced', async (t) => {
  const { punctual, client, sync, schedule } = await workspace();
  const id = await schedule();
  await punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).terminate('lost');
  const lost = await runOf(punctual, id);
  await markUnsynced(client);

  t.is(sum(await sync()), 1);

  t.is((await startedWith(punctual, id)).status, 'RUNNING');
  t.not(await runOf(punctual, id), lost);
});

test.serial('a running workflow is left alone when its post is synced again', async (t) => {
  const { punctual, client, sync, schedule } = await workspace();
  const id = await schedule();
  const run = await runOf(punctual, id);
  await markUnsynced(client);

  t.is(sum(await sync()), 1);

  t.is(await runOf(punctual, id), run);
  t.is((await startedWith(punctual, id)).status, 'RUNNING');
});

test.serial(
  'concurrent relays share the outbox: each post is synced once, in batches of 50',
  async (t) => {
    const { punctual, client, store, sync } = await workspace();
    const ids = await Promise.all(Array.from({ length: 120 }, store));
    await sync();
    const runs = await Promise.all(ids.map((id) => runOf(punctual, id)));
    await markUnsynced(client);

    const synced = await sync(4);

    t.is(sum(synced), 120, synced.join(' '));
    t.true(synced.every((count) => count <= 50));
    t.deepEqual(await Promise.all(ids.map((id) => runOf(punctual, id))), runs);
  },
);

test.serial(
  'a sync cancels the workflow of a post that became a draft, and marks a draft that never had one',
  async (t) => {
    const { punctual, client, sync, schedule } = await workspace();
    const id = await schedule();
    const draft = (await client.post('/posts', { body: 'x' })).body.post.id;
    const em = punctual.orm.em.fork();
    await em.execute(
      `update posts set status = 'draft', scheduled_at = null, revision = 2 where workspace_id = ?`,
      [client.workspaceId],
    );

    t.is(sum(await sync()), 2);

    t.is(await runOf(punctual, draft), null);
    t.deepEqual(await signalsTo(punctual, id), ['cancel']);
  },
);

test.serial('the relay does not repeat a new time that the API is still syncing', async (t) => {
  const { punctual, client, deps, store, schedule } = await workspace();
  const postId = await schedule();
  const { workspaceId } = client;
  const laterAt = new Date(Date.parse(dueAt) + 3_600_000).toISOString();
  // The relay's clock is stopped, so the change stays recent however slow the machine is.
  const clock = await heldClock(t, punctual.databaseUrl, Date.now() + 3_600_000);
  await punctual.orm.em
    .fork()
    .execute('update posts set scheduled_at = ?, revision = 2, updated_at = ? where id = ?', [
      laterAt,
      clock.now(),
      postId,
    ]);
  const stop = startRelay({ ...deps, orm: clock.orm });
  t.teardown(stop);

  for (let runs = 0; runs < 2; runs += 1) {
    const other = await store();
    await poll(
      () => runOf(punctual, other),
      (run) => run !== null,
    );
  }
  t.deepEqual(await signalsTo(punctual, postId), []);
  const synced = { workspaceId, postId, status: 'scheduled', revision: 2, dueAt: laterAt };
  await syncPost(punctual.temporal.client, punctual.orm.em.fork(), synced);
  await stop();

  t.deepEqual(await signalsTo(punctual, postId), ['reschedule']);
});

test.serial('a running relay survives a database outage', async (t) => {
  const { punctual, client, deps, schedule } = await workspace();
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const orm = ownPool(t, throughGate(punctual.databaseUrl, gate));
  await schedule();
  const failed = Promise.withResolvers<void>();
  const log = testLog.child({});
  log.warn = (_what: object, line?: string) =>
    line === 'the outbox could not be read' ? failed.resolve() : undefined;
  t.teardown(startRelay({ ...deps, orm, log }));

  await gate.close();
  await markUnsynced(client);
  await failed.promise;
  t.is((await unsynced(client)).length, 1);
  await gate.open();

  await poll(
    () => unsynced(client),
    (ids) => ids.length === 0,
  );
});
