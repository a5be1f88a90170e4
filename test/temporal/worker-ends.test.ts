import type { ExecutionContext } from 'ava';
import { createServer } from 'node:http';
import { freePort } from '../../scripts/ports.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { fakeNetworks, fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { fakeChannel, storeChannel } from '../support/seed.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import {
  ended,
  patientWorker,
  spawnWorker,
  type WorkerProcess,
} from '../support/worker-process.ts';
import { listening } from '../support/listening.ts';

const test = needs('temporal');

async function workerBehindGate(t: ExecutionContext) {
  const punctual = await startApi(t, { networks: fakeNetworks });
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const temporal = await tcpGate(t, targetOf(punctual.temporalEnv['TEMPORAL_ADDRESS'] ?? ''));
  const temporalEnv = { ...punctual.temporalEnv, TEMPORAL_ADDRESS: temporal.address };
  const port = await freePort();
  const start = (databaseUrl: string): WorkerProcess =>
    spawnWorker(t, { ...punctual, databaseUrl, temporalEnv }, [], undefined, {
      PUNCTUAL_WORKER_HEALTH_PORT: String(port),
      LOG_LEVEL: 'debug',
    });
  const behind = throughGate(punctual.databaseUrl, gate);
  const ask = (path: string) => rawCall(`http://127.0.0.1:${port}${path}`);
  return { punctual, gate, temporal, start, behind, ask };
}

test('a worker is alive from its start, and ready while it polls and its database and Temporal respond', async (t) => {
  const { gate, temporal, start, behind, ask } = await workerBehindGate(t);
  await gate.close();
  const worker = start(behind);
  t.is((await poll(() => ask('/livez').catch(() => null), Boolean))?.status, 200);
  const before = await ask('/readyz');
  t.is(before.status, 503);
  t.like(before.body, { ready: false, postgresql: 'does not answer' });

  await gate.open();
  await worker.logged('polling');

  const ready = await poll(
    () => ask('/readyz'),
    ({ status }) => status === 200,
  );
  t.deepEqual(ready.body, { ready: true, postgresql: 'ok', temporal: 'ok', polling: 'ok' });
  t.is((await ask('/nothing')).status, 404);

  await temporal.close();
  const { body } = await poll(
    () => ask('/readyz'),
    ({ status }) => status === 503,
  );
  t.like(body, { ready: false, postgresql: 'ok', temporal: 'does not answer' });
  // Each poll repeats its call: hundreds of lines a minute, which only `debug` shows.
  const repeated = /^.*gRPC call poll.*$/mv;
  const output = () => Promise.resolve(worker.output());
  const [line = ''] = repeated.exec(await poll(output, (text) => repeated.test(text))) ?? [];
  t.is(JSON.parse(line).level, 20);
  await temporal.open();
  await poll(
    () => ask('/readyz'),
    ({ status }) => status === 200,
  );

  await gate.close();
  const away = await poll(
    () => ask('/readyz'),
    ({ status }) => status === 503,
  );
  t.like(away.body, { ready: false, polling: 'ok' });
  t.is((await ask('/livez')).status, 200);
});

/** How often a worker is stopped next to its successor, and how many posts are due meanwhile. */
const [restarts, postsEach] = [3, 10];

test('posts that are due while a worker stops and its successor polls are published once each', async (t) => {
  t.timeout(400_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const schedule = async (): Promise<string> => (await client.post('/posts', content)).body.post.id;
  const posts: string[] = [];
  let stop = await startWorkers(t, punctual);
  for (let restart = 0; restart < restarts; restart += 1) {
    const next = await startWorkers(t, punctual);
    const due = Array.from({ length: postsEach }, schedule);
    const beganMs = performance.now();
    await Promise.all([...due, stop()]);
    t.log(`stopped after ${Math.round(performance.now() - beganMs)} ms`);
    posts.push(...(await Promise.all(due)));
    stop = next;
  }

  // On a busy machine a task is sometimes lost until its heartbeat timeout: docs/known-faults.md.
  for (const post of posts) {
    t.is((await client.finalPost(post)).status, 'published');
  }

  t.is(network.live.length, posts.length);
});

/** A Mastodon server that hangs from its first status on. @param loses Whether it closes the request of that status. */
async function hangingServer(t: ExecutionContext, loses: boolean) {
  const hung = Promise.withResolvers<void>();
  let hasStatus = false;
  const server = createServer(({ method }, response) => {
    if (method === 'POST' && loses && !hasStatus) {
      response.destroy();
    } else if (method === 'POST' || hasStatus) {
      hung.resolve();
    } else {
      response.setHeader('content-type', 'application/json').end('[]');
    }

    hasStatus ||= method === 'POST';
  });
  const port = await listening(t, server);
  return { port, baseUrl: `http://127.0.0.1:${port}`, hung: hung.promise };
}

for (const { loses, what, says } of [
  { loses: true, what: 'looks a lost post up', says: /"msg":"stopped"/v },
  { loses: false, what: 'sends a post', says: /stopped before the sends in progress had ended/v },
]) {
  test(`a worker that ${what} on a hanging server exits without an error when it is stopped`, async (t) => {
    t.timeout(200_000);
    const punctual = await startApi(t, {});
    const client = await newClient(punctual);
    const { port, baseUrl, hung } = await hangingServer(t, loses);
    const channel = await storeChannel(punctual, client.workspaceId, { baseUrl });
    const worker = spawnWorker(t, punctual, [port], patientWorker);
    await worker.logged('polling');
    const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
    t.is((await client.post('/posts', content)).status, 201);
    await hung;

    worker.child.kill('SIGTERM');
    await ended(worker.child);

    t.is(worker.child.exitCode, 0, worker.output());
    t.regex(worker.output(), says);
    t.notRegex(worker.output(), /uncaught exception/v);
  });
}
