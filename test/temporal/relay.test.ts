import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createOrm } from '../../db/orm.ts';
import { relayOnce, startRelay, type RelayDeps } from '../../worker/relay.ts';
import { storeChannel } from '../api/stored-channel.ts';
import { newClient } from '../support/client.ts';
import { poll } from '../support/poll.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { testLog } from '../support/temporal.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { runOf, startedWith } from './started-with.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal');

const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

/** An API with one scheduled post that Temporal was told of. */
async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const schedule = async (): Promise<string> => {
    const post = { body: 'secret words', channel_ids: [channel], scheduled_at: dueAt };
    const { body } = await client.post('/posts', post);
    await poll(
      () => unsynced(punctual),
      (ids) => !ids.includes(body.post.id),
    );
    return body.post.id;
  };
  const deps: RelayDeps = { ...punctual, client: punctual.temporal.client, log: testLog };
  return { punctual, client, deps, schedule };
}

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

test('Temporal hears of a scheduled post right after the answer, by ids and times only', async (t) => {
  const { punctual, client, schedule } = await world(t);
  const id = await schedule();
  const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  const history = await handle.fetchHistory();
  t.true(holds(history, id));
  t.false(holds(history, 'secret words'));
});

test('a workflow whose start was lost is started by the relay, once', async (t) => {
  const { punctual, client, deps, schedule } = await world(t);
  const id = await schedule();
  await punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).terminate('lost');
  const lost = await runOf(punctual, id);
  await forget(punctual);

  t.is(await relayOnce(deps), 1);

  const input = { workspaceId: client.workspaceId, postId: id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, id), { status: 'RUNNING', input: [input] });
  t.not(await runOf(punctual, id), lost);
  t.deepEqual(await unsynced(punctual), []);
  t.is(await relayOnce(deps), 0);
});

test('a workflow that runs already is left alone when Temporal is told again', async (t) => {
  const { punctual, deps, schedule } = await world(t);
  const id = await schedule();
  const run = await runOf(punctual, id);
  await forget(punctual);

  t.is(await relayOnce(deps), 1);

  t.is(await runOf(punctual, id), run);
  t.is((await startedWith(punctual, id)).status, 'RUNNING');
  t.deepEqual(await unsynced(punctual), []);
});

test('several relays at once share the outbox: each post is told once, in batches of 20', async (t) => {
  const { punctual, deps, schedule } = await world(t);
  const ids = await Promise.all(Array.from({ length: 45 }, schedule));
  const runs = await Promise.all(ids.map((id) => runOf(punctual, id)));
  await forget(punctual);

  const told: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    told.push(...(await Promise.all(Array.from({ length: 4 }, () => relayOnce(deps)))));
  }

  t.is(
    told.reduce((sum, count) => sum + count, 0),
    45,
    told.join(' '),
  );
  t.true(told.every((count) => count <= 20));
  t.deepEqual(await unsynced(punctual), []);
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
  const { punctual, client, deps, schedule } = await world(t);
  const id = await schedule();
  const draft = (await client.post('/posts', { body: 'x' })).body.post.id;
  const em = punctual.orm.em.fork();
  await em.execute(`update posts set status = 'draft', scheduled_at = null, revision = 2`);

  t.is(await relayOnce(deps), 2);

  t.deepEqual(await unsynced(punctual), []);
  t.is(await runOf(punctual, draft), null);
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  const { events } = await handle.fetchHistory();
  const signals = (events ?? []).flatMap(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
  );
  t.deepEqual(signals, ['cancel']);
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
    10_000,
  );
});
