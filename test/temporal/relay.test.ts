import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createOrm } from '../../db/orm.ts';
import { relayOnce, startRelay, type RelayDeps } from '../../worker/relay.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { storeChannel, storeUntold } from '../support/seed.ts';
import { newClient, type Client } from '../support/client.ts';
import { poll } from '../support/poll.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { testLog } from '../support/temporal.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { runOf, startedWith } from './started-with.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal');

const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  await storeChannel(punctual, client.workspaceId);
  const deps: RelayDeps = { ...punctual, client: punctual.temporal.client, log: testLog };
  const store = (): Promise<string> => storeUntold(punctual, client.workspaceId, dueAt);
  const tell = (relays = 1): Promise<number[]> => tellAll(punctual, deps, relays);
  const schedule = async (): Promise<string> => {
    const id = await store();
    await tell();
    return id;
  };
  return { punctual, client, deps, store, tell, schedule };
}

/** Lets relays look, side by side, until the outbox is empty. @returns how many posts each look told of. */
async function tellAll(punctual: Punctual, deps: RelayDeps, relays: number): Promise<number[]> {
  const told: number[] = [];
  await poll(
    async () => {
      told.push(...(await Promise.all(Array.from({ length: relays }, () => relayOnce(deps)))));
      return unsynced(punctual);
    },
    (ids) => ids.length === 0,
  );
  return told;
}

async function signalsTo({ temporal }: Punctual, id: string): Promise<string[]> {
  const { events } = await temporal.client.workflow.getHandle(postWorkflowId(id)).fetchHistory();
  return (events ?? []).flatMap(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
  );
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

async function unsynced({ orm }: Punctual): Promise<string[]> {
  const sql = 'select id from posts where synced_revision < revision';
  return (await orm.em.fork().execute<{ id: string }[]>(sql)).map(({ id }) => id);
}

const forget = ({ orm }: Punctual): Promise<unknown> =>
  orm.em.fork().execute('update posts set synced_revision = 0');

const holds = (value: unknown, text: string): boolean =>
  value instanceof Uint8Array || typeof value === 'string'
    ? Buffer.from(value).includes(text)
    : value !== null &&
      typeof value === 'object' &&
      Object.values(value).some((field) => holds(field, text));

/** Schedules until Temporal was told without a relay: the API gives up after 2 s, and this machine may be busy. */
async function toldByApi(punctual: Punctual, client: Client): Promise<string> {
  const { body: mine } = await client.get('/channels');
  const channels = mine.channels.map(({ id }: { id: string }) => id);
  const post = { body: 'secret words', channel_ids: channels, scheduled_at: dueAt };
  for (let tries = 0; tries < 10; tries += 1) {
    const { id } = (await client.post('/posts', post)).body.post;
    for (let looks = 0; looks < 60; looks += 1) {
      if (!(await unsynced(punctual)).includes(id)) {
        return id;
      }

      await sleep(50);
    }
  }

  throw new Error('Of ten posts Temporal heard nothing.');
}

test('Temporal hears of a scheduled post right after the answer, by ids and times only', async (t) => {
  const { punctual, client } = await world(t);
  const id = await toldByApi(punctual, client);
  const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  const history = await handle.fetchHistory();
  t.true(holds(history, id));
  t.false(holds(history, 'secret words'));
});

test('a post whose start was dropped is started by the relay, with all that the API would have said', async (t) => {
  const { punctual, client, deps, store, tell } = await world(t);
  const id = await store();
  t.is(await runOf(punctual, id), null);

  t.is(sum(await tell()), 1);

  const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
  t.is(await relayOnce(deps), 0);
});

test('a workflow that was ended from outside runs anew when Temporal is told again', async (t) => {
  const { punctual, tell, schedule } = await world(t);
  const id = await schedule();
  await punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).terminate('lost');
  const lost = await runOf(punctual, id);
  await forget(punctual);

  t.is(sum(await tell()), 1);

  t.is((await startedWith(punctual, id)).status, 'RUNNING');
  t.not(await runOf(punctual, id), lost);
});

test('a workflow that runs already is left alone when Temporal is told again', async (t) => {
  const { punctual, tell, schedule } = await world(t);
  const id = await schedule();
  const run = await runOf(punctual, id);
  await forget(punctual);

  t.is(sum(await tell()), 1);

  t.is(await runOf(punctual, id), run);
  t.is((await startedWith(punctual, id)).status, 'RUNNING');
});

test('several relays at once share the outbox: each post is told once, in batches of 50', async (t) => {
  const { punctual, store, tell } = await world(t);
  const ids = await Promise.all(Array.from({ length: 120 }, store));
  await tell();
  const runs = await Promise.all(ids.map((id) => runOf(punctual, id)));
  await forget(punctual);

  const told = await tell(4);

  t.is(sum(told), 120, told.join(' '));
  t.true(told.every((count) => count <= 50));
  t.deepEqual(await Promise.all(ids.map((id) => runOf(punctual, id))), runs);
});

test('a draft needs no workflow, and the relay has nothing to do for it', async (t) => {
  const { punctual, client, deps } = await world(t);
  const { body } = await client.post('/posts', { body: 'x' });
  t.deepEqual(await unsynced(punctual), []);
  t.is(await relayOnce(deps), 0);
  t.is(await runOf(punctual, body.post.id), null);
});

test('a post that became a draft is told to stop, and one that never had a workflow is as good as told', async (t) => {
  const { punctual, client, tell, schedule } = await world(t);
  const id = await schedule();
  const draft = (await client.post('/posts', { body: 'x' })).body.post.id;
  const em = punctual.orm.em.fork();
  await em.execute(`update posts set status = 'draft', scheduled_at = null, revision = 2`);

  t.is(sum(await tell()), 2);

  t.is(await runOf(punctual, draft), null);
  t.deepEqual(await signalsTo(punctual, id), ['cancel']);
});

test('a new time that the API is still telling Temporal of is not told a second time by the relay', async (t) => {
  const { punctual, client, deps, schedule } = await world(t);
  const postId = await schedule();
  const { workspaceId } = client;
  const laterAt = new Date(Date.parse(dueAt) + 3_600_000).toISOString();
  const em = punctual.orm.em.fork();
  const change = (): Promise<unknown> =>
    em.execute('update posts set scheduled_at = ?, revision = 2, updated_at = now()', [laterAt]);

  await change();
  const stop = startRelay(deps);
  t.teardown(stop);
  for (let looks = 0; looks < 5; looks += 1) {
    await sleep(400);
    await change();
  }
  const told = { workspaceId, postId, status: 'scheduled', revision: 2, dueAt: laterAt };
  await syncPost(punctual.temporal.client, em, told);
  await stop();

  t.deepEqual(await signalsTo(punctual, postId), ['reschedule']);
});

test('what the API could not tell Temporal of is told by the relay, however far their clocks are apart', async (t) => {
  const { punctual, deps, schedule } = await world(t);
  const [now, ahead, behind] = [await schedule(), await schedule(), await schedule()];
  const em = punctual.orm.em.fork();
  const change = (id: string, offMs: number): Promise<unknown> =>
    em.execute('update posts set revision = 2, updated_at = ? where id = ?', [
      new Date(Date.now() + offMs),
      id,
    ]);
  await change(ahead, 300_000);
  await change(behind, -300_000);
  await change(now, 0);

  t.is(await relayOnce(deps, { graceMs: 60_000 }), 2);
  t.deepEqual(await unsynced(punctual), [now]);

  t.teardown(startRelay(deps));
  await poll(
    () => unsynced(punctual),
    (ids) => ids.length === 0,
  );
});

test('a running relay outlives an outage of the database', async (t) => {
  const { punctual, deps, schedule } = await world(t);
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const orm = createOrm(throughGate(punctual.databaseUrl, gate), { poolSize: 2 });
  t.teardown(() => orm.close());
  await schedule();
  t.teardown(startRelay({ ...deps, orm }));

  await gate.close();
  await forget(punctual);
  await sleep(1500); // Longer than the relay waits between two looks.
  t.is((await unsynced(punctual)).length, 1);
  await gate.open();

  await poll(
    () => unsynced(punctual),
    (ids) => ids.length === 0,
  );
});
