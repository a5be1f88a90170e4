import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { startRelay } from '../../../worker/relay.ts';
import { newClient, type Client } from '../../support/client.ts';
import { poll } from '../../support/poll.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { targetOf, tcpGate } from '../../support/tcp-gate.ts';
import { freshNamespace, testLog } from '../../support/temporal.ts';
import { startedWith } from '../../temporal/started-with.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storeChannel } from '../../support/seed.ts';
import { needs } from '../../support/needs.ts';

const test = needs('temporal');

/** An API that reaches Temporal by way of a gate. */
async function world(t: ExecutionContext) {
  const temporalEnv = await freshNamespace();
  const gate = await tcpGate(t, targetOf(temporalEnv['TEMPORAL_ADDRESS'] ?? ''));
  const through = { ...temporalEnv, TEMPORAL_ADDRESS: gate.address };
  const punctual = await startApi(t, { temporalEnv: through });
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  return { punctual, client, channel, gate };
}

const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

/** @returns its id, and how long the answer took in milliseconds. */
async function schedule(t: ExecutionContext, client: Client, channel: string) {
  const begun = performance.now();
  const reply = await client.post('/posts', {
    body: 'x',
    channel_ids: [channel],
    scheduled_at: dueAt,
  });
  const tookMs = performance.now() - begun;
  t.is(reply.status, 201);
  t.is(reply.body.post.status, 'scheduled');
  return { id: String(reply.body.post.id), tookMs };
}

const syncedRevision = async ({ orm }: Punctual, id: string): Promise<number | undefined> => {
  const sql = 'select synced_revision from posts where id = ?';
  const [row] = await orm.em.fork().execute<{ synced_revision: number }[]>(sql, [id]);
  return row?.synced_revision;
};

test('a post is accepted at once while Temporal is away, and has its workflow soon after its return', async (t) => {
  const { punctual, client, channel, gate } = await world(t);
  const stopRelay = startRelay({ ...punctual, client: punctual.temporal.client, log: testLog });
  t.teardown(stopRelay);
  const there = await schedule(t, client, channel);
  await poll(
    () => syncedRevision(punctual, there.id),
    (revision) => revision === 1,
  );

  await gate.close();
  const away = await schedule(t, client, channel);
  t.true(away.tookMs < 2000, `${away.tookMs} ms`);
  await sleep(11_000); // Long enough for a client to have become patient.
  t.is(await syncedRevision(punctual, away.id), 0);
  const ready = await poll(
    () => rawCall(`${punctual.url}/readyz`),
    ({ body }) => body.postgresql === 'ok',
  );
  t.is(ready.status, 503);
  t.like(ready.body, { ready: false, temporal: 'does not answer' });
  t.is((await rawCall(`${punctual.url}/healthz`)).status, 200);

  await gate.open();
  const back = performance.now();
  await poll(
    () => Promise.resolve(gate.passing()),
    (connections) => connections > 0,
    4000,
  );
  await poll(
    () => syncedRevision(punctual, away.id),
    (revision) => revision === 1,
  );
  t.log(`told after ${Math.round(performance.now() - back)} ms`);
  const { workspaceId } = client;
  const input = { workspaceId, postId: away.id, revision: 1, dueAt };
  t.deepEqual(await startedWith(punctual, away.id), { status: 'RUNNING', input: [input] });
});

test('twenty posts that Temporal did not hear of are all accepted at once', async (t) => {
  const { punctual, client, channel, gate } = await world(t);
  await gate.close();
  const posts = await Promise.all(Array.from({ length: 20 }, () => schedule(t, client, channel)));

  await gate.open();
  t.teardown(startRelay({ ...punctual, client: punctual.temporal.client, log: testLog }));

  for (const { id } of posts) {
    await poll(
      () => syncedRevision(punctual, id),
      (revision) => revision === 1,
    );
  }

  t.is((await startedWith(punctual, posts[0]?.id ?? '')).status, 'RUNNING');
});
