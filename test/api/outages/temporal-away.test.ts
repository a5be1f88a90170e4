import { version } from '../../../runtime/version.ts';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Logger } from '../../../runtime/logger.ts';
import { backgroundSync } from '../../../temporal/background-sync.ts';
import { startRelay } from '../../../worker/relay.ts';
import { newClient, type Client } from '../../support/client.ts';
import { poll } from '../../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../../support/punctual.ts';
import { targetOf, tcpGate } from '../../support/tcp-gate.ts';
import { freshNamespace, testLog } from '../../support/temporal.ts';
import { startedWith } from '../../temporal/started-with.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storeChannel } from '../../support/seed.ts';
import { needs } from '../../support/needs.ts';

const test = needs('temporal');

/** An API that reaches Temporal through a gate. */
async function apiBehindGate(t: ExecutionContext) {
  const temporalEnv = await freshNamespace();
  const gate = await tcpGate(t, targetOf(temporalEnv['TEMPORAL_ADDRESS'] ?? ''));
  const through = { ...temporalEnv, TEMPORAL_ADDRESS: gate.address };
  const punctual = await startApi(t, { temporalEnv: through });
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  return { punctual, client, channel, gate };
}

const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

/** @returns the id of the post. */
async function schedule(t: ExecutionContext, client: Client, channel: string): Promise<string> {
  const post = { body: 'x', channel_ids: [channel], scheduled_at: dueAt };
  const reply = await client.post('/posts', post);
  t.is(reply.status, 201);
  t.is(reply.body.post.status, 'scheduled');
  return String(reply.body.post.id);
}

/** Holds all requests to Temporal until released. A caller that waits for them meanwhile never continues. */
function holdCalls({ temporal: { client } }: Punctual): () => void {
  const released = Promise.withResolvers<void>();
  const withDeadline = client.withDeadline.bind(client);
  client.withDeadline = async (deadlineAt, call) => {
    await released.promise;
    return withDeadline(deadlineAt, call);
  };
  return released.resolve;
}

/** Counts this process's connection attempts to a port from now on. */
function connectionAttempts(t: ExecutionContext, port: number): () => number {
  let count = 0;
  const see = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.on('connectionAttempt', (_address: string, to: number) => {
      count += to === port ? 1 : 0;
    });
  };
  subscribe('net.client.socket', see);
  t.teardown(() => unsubscribe('net.client.socket', see));
  return () => count;
}

const syncedRevision = async ({ orm }: Punctual, id: string): Promise<number | undefined> => {
  const sql = 'select synced_revision from posts where id = ?';
  const [row] = await orm.em.fork().execute<{ synced_revision: number }[]>(sql, [id]);
  return row?.synced_revision;
};

test('an outage of Temporal is one line in the log of an API, not one for each post, and hides no other failure', async (t) => {
  const { punctual, client, channel, gate } = await apiBehindGate(t);
  const postId = await schedule(t, client, channel);
  const known = () => syncedRevision(punctual, postId);
  await poll(known, (revision) => revision === 1);
  const of = { workspaceId: client.workspaceId, postId };
  const post = { ...of, status: 'scheduled', revision: 1, dueAt };
  const lines: { readonly error: Error }[] = [];
  const log = {
    warn: (line: { readonly error: Error }) => lines.push(line),
    debug: () => undefined,
  };
  const { client: temporal } = punctual.temporal;
  const sync = backgroundSync(temporal, punctual.orm, log as unknown as Logger);
  const handle = temporal.workflow.getHandle(`post-${postId}`);
  const message = /\(\d+ (?:UNAVAILABLE|DEADLINE_EXCEEDED|CANCELLED): .+\)/v;
  for (const outage of [1, 2]) {
    await gate.close();
    for (let count = 0; count < 3; count += 1) {
      sync.syncPost(post);
      await sync.drain();
    }

    t.is(lines.length, 2 * outage - 1);
    t.regex(lines.at(-1)?.error.message ?? '', message, 'the line says why');
    sync.syncPost({ ...post, postId: 'no id' }); // Fails for another reason than the outage.
    await sync.drain();
    t.is(lines.length, 2 * outage);
    await gate.open();
    await poll(() => handle.describe().then(Boolean, () => false), Boolean);
    sync.syncPost(post);
    await sync.drain();
  }
});

test('a post is accepted at once while Temporal is unavailable, and has its workflow soon afterwards', async (t) => {
  const { punctual, client, channel, gate } = await apiBehindGate(t);
  const stopRelay = startRelay({ ...punctual, client: punctual.temporal.client, log: testLog });
  t.teardown(stopRelay);
  const there = await schedule(t, client, channel);
  await poll(
    () => syncedRevision(punctual, there),
    (revision) => revision === 1,
  );

  await gate.close();
  const release = holdCalls(punctual);
  const away = await schedule(t, client, channel);
  release();
  // A client with growing backoff, as in gRPC, would need over two minutes for this many, longer than `poll` waits.
  const attempts = connectionAttempts(t, gate.port);
  await poll(
    () => Promise.resolve(attempts()),
    (count) => count >= 10,
  );
  t.is(await syncedRevision(punctual, away), 0);
  const ready = await poll(
    () => rawCall(`${punctual.url}/readyz`),
    ({ status }) => status === 200,
  );
  t.deepEqual(ready.body, { ready: true, postgresql: 'ok' });
  const whole = await rawCall(`${punctual.url}/status`);
  t.is(whole.status, 503);
  t.like(whole.body, { ok: false, temporal: 'does not answer' });

  await gate.open();
  const back = performance.now();
  await poll(
    () => Promise.resolve(gate.passing()),
    (connections) => connections > 0,
  );
  await poll(
    () => syncedRevision(punctual, away),
    (revision) => revision === 1,
  );
  t.log(`synced after ${Math.round(performance.now() - back)} ms`);
  const { workspaceId } = client;
  const input = { workspaceId, postId: away, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, away), { status: 'RUNNING', input: [input] });
});

const none = { posts: 0, oldest_seconds: null, channels: [] };

test('the status reports that no worker polls, and is ok as soon as one does', async (t) => {
  const punctual = await startApi(t);
  const ask = () => rawCall(`${punctual.url}/status`);

  // Each part has 2 s to answer, and this machine may be busy.
  const before = await poll(ask, ({ body }) => body.postgresql === 'ok' && body.temporal === 'ok');
  t.is(before.status, 503);
  const parts = { postgresql: 'ok', temporal: 'ok' };
  const backlog = { overdue_posts: 0, unsynced_posts: 0, late: none };
  t.deepEqual(before.body, { ok: false, version, ...parts, worker: 'none polls', backlog });

  await startWorkers(t, punctual);
  const { body } = await poll(ask, (reply) => reply.status === 200 && reply.body.backlog);
  t.deepEqual(body, { ok: true, version, ...parts, worker: 'ok', backlog });
});

test('the status takes the age of a poll from the clock of the database, not of the machine', async (t) => {
  let aheadMs = 0;
  const punctual = await startApi(t, { now: () => new Date(Date.now() + aheadMs) });
  await startWorkers(t, punctual);
  const untilWorker = (state: string) =>
    poll(
      () => rawCall(`${punctual.url}/status`),
      ({ body }) => body.worker === state,
    );

  await untilWorker('ok');
  aheadMs = 200_000;
  await untilWorker('none polls');
  t.pass();
});

test('many requests for the status cost Temporal no more than one', async (t) => {
  const { url, temporal } = await startApi(t);
  const { client } = temporal;
  const withDeadline = client.withDeadline.bind(client);
  let calls = 0;
  client.withDeadline = (deadlineAt, call) => {
    calls += 1;
    return withDeadline(deadlineAt, call);
  };
  const crowd = await Promise.all(Array.from({ length: 200 }, () => rawCall(`${url}/status`)));

  t.true(crowd.every(({ status }) => status === 503));
  // One per second, and the calls may take some seconds.
  t.true(calls >= 1 && calls <= 20, `${calls} looks`);
});
