import type { Client } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import { createOrm } from '../../db/orm.ts';
import { relayOnce } from '../../worker/relay.ts';
import { startReadyApi } from '../support/api-process.ts';
import { clientFor, newClient } from '../support/client.ts';
import { patience } from '../support/database.ts';
import { holdLock } from '../support/hold-lock.ts';
import { ownPool, sharedApi, sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { fakeChannel, storeChannel, storeUnsynced } from '../support/seed.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { testLog } from '../support/temporal.ts';

// A machine that loses its power or network, or is suspended, in the middle of a transaction keeps its locks. The
// server timeouts that end such sessions are a tenth of the product's here.

const test = needs('temporal');
const silent = sharedApi(test); // No worker runs.
const live = sharedPunctual(test);

/** The product's pool on a machine that can be cut off. */
async function machine(t: ExecutionContext, databaseUrl: string) {
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const orm = createOrm(throughGate(databaseUrl, gate), { ...patience, queryTimeoutMs: 2000 });
  return { orm, cutOff: gate.freeze };
}

/** Claims rows of the outbox in a relay whose machine is cut off while it calls Temporal. */
async function claimAndVanish(
  t: ExecutionContext,
  { databaseUrl, temporal }: typeof silent.punctual,
): Promise<void> {
  const { orm, cutOff } = await machine(t, databaseUrl);
  await new Promise<void>((resolve) => {
    const withDeadline = () => {
      resolve();
      return new Promise(() => undefined);
    };
    const client = Object.create(temporal.client, { withDeadline: { value: withDeadline } });
    relayOnce({ orm, client: client as Client, log: testLog }).catch(() => undefined);
  });
  cutOff();
}

test.serial(
  'another relay syncs posts that the relays of cut-off machines had claimed, and unclaimed ones',
  async (t) => {
    const { punctual } = silent;
    const { workspaceId } = await silent.newClient();
    await storeChannel(punctual, workspaceId);
    const dueAt = new Date(Date.now() + 24 * 3_600_000);
    const posts: string[] = [];
    // The limit of concurrent relays.
    for (let relays = 0; relays < 4; relays += 1) {
      posts.push(await storeUnsynced(punctual, workspaceId, dueAt));
      await claimAndVanish(t, punctual);
    }

    posts.push(await storeUnsynced(punctual, workspaceId, dueAt));
    const em = punctual.orm.em.fork();
    await poll(
      async () => {
        await relayOnce({ ...punctual, client: punctual.temporal.client, log: testLog });
        return em.execute<unknown[]>(
          'select 1 from posts where workspace_id = ? and synced_revision = revision',
          [workspaceId],
        );
      },
      ({ length }) => length === posts.length,
    );
    t.pass();
  },
);

test('a post goes out whose cancel was interrupted when its machine was cut off', async (t) => {
  const { punctual } = live;
  const client = await live.newClient();
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const { post } = (
    await client.post('/posts', {
      body: 'Hello',
      channel_ids: [channel],
      scheduled_at: new Date(Date.now() + 20_000).toISOString(),
    })
  ).body;
  const { orm, cutOff } = await machine(t, punctual.databaseUrl);
  // A cancel reads the clock after it has locked the post and before it writes.
  const now = (): Date => {
    cutOff();
    return new Date();
  };
  const deps = { ...punctual.deps, orm, now };
  const { workspaceId } = client;
  await t.throwsAsync(cancelPost(deps, { workspaceId, postId: post.id }), { message: /timeout/v });

  const { status } = await poll(
    async () => (await client.get(`/posts/${post.id}`)).body.post,
    (shown) => shown.status !== 'scheduled' && shown.status !== 'publishing',
  );
  t.is(status, 'published');
  t.is(network.sends.length, 1);
});

test('a post that got a 503 does not exist once its repetition is stored', async (t) => {
  const { punctual } = silent;
  const { workspaceId, key } = await newClient(punctual);
  const channel = await storeChannel(punctual, workspaceId);
  const api = await startReadyApi(t, {
    ...punctual.temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
  });
  const client = clientFor(api.url, workspaceId, key);
  const send = (body: string) =>
    client.post('/posts', { body, channel_ids: [channel], schedule_in_minutes: 60 });
  t.is((await send('Before')).status, 201); // The first post of a workspace takes another path.
  const lock = await holdLock(
    t,
    ownPool(t, punctual.databaseUrl),
    `select 1 from channels where id = '${channel}' for update`,
  );
  t.is((await send('Once')).status, 503);
  const again = send('Once');
  await poll(lock.waiting, (sessions) => sessions > 0);
  lock.release();
  t.is((await again).status, 201);

  await poll(lock.waiting, (sessions) => sessions === 0);
  const { posts } = (await client.get('/posts')).body;
  t.deepEqual(
    posts.map(({ body }: { body: string }) => body),
    ['Once', 'Before'],
  );
});
