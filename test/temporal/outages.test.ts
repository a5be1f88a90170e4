import type { ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { postWorkflowId } from '../../workflows/messages.ts';
import { status } from '../support/answers.ts';
import { beforeTests, ownPool, sharedApi, sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { rendezvous } from '../support/rendezvous.ts';
import { fakeChannel, storeChannel, storeUnsynced } from '../support/seed.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { freshNamespace, temporalClient, testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startWebhooks } from '../support/webhooks.ts';
import type { Client } from '@temporalio/client';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import { createOrm } from '../../db/orm.ts';
import { relayOnce } from '../../worker/relay.ts';
import { startReadyApi } from '../support/api-process.ts';
import { clientFor, newClient } from '../support/client.ts';
import { patience } from '../support/database.ts';
import { holdLock } from '../support/hold-lock.ts';

const test = needs('temporal');

/** Only syncs go through the gate. The workers always reach Temporal, because timers must fire. */
const shared = beforeTests(test, async (scope) => {
  const real = await freshNamespace();
  const gate = await tcpGate(scope, targetOf(real['TEMPORAL_ADDRESS'] ?? '', 7233));
  const api = await startWebhooks(scope, {
    temporalEnv: { ...real, TEMPORAL_ADDRESS: gate.address },
  });
  await startWorkers(scope, { ...api.punctual, temporalEnv: real });
  return { api, gate, temporal: temporalClient(scope, real).client };
});

/** Once every test is ready, cuts Temporal off from the API and the relay. */
const away = rendezvous(test, () => shared().gate.close());

/** Once every test has acted, reconnects Temporal and waits until everything is synced. */
const back = rendezvous(test, async () => {
  const { gate } = shared();
  await sleep(2500); // The API's notify times out after 2 s.
  const missed = await unsynced();
  await gate.open();
  // Other tests check the delay before a lost connection is retried.
  await poll(unsynced, (ids) => ids.length === 0);
  return missed;
});

/** Ids of all posts and deliveries in the outbox. */
async function unsynced(): Promise<string[]> {
  const rows = await shared()
    .api.punctual.orm.em.fork()
    .execute<{ id: string }[]>(
      `select id from posts where synced_revision < revision
       union all select id from deliveries where synced_round < round`,
    );
  return rows.map(({ id }) => id);
}

/**
 * Acts while Temporal is unavailable.
 *
 * @param work @returns its result, and the id of the row that stays unsynced.
 */
async function unheard<T>(
  t: ExecutionContext,
  work: () => Promise<readonly [T, string]>,
): Promise<T> {
  await away(t);
  const [answer, id] = await work();
  const missed = await back(t);
  t.true(missed.includes(id));
  return answer;
}

/** A workspace with a channel. */
async function workspace() {
  const { api, temporal } = shared();
  const network = fakeNetwork();
  const client = await api.newClient();
  const channel = await fakeChannel(api.punctual, client.workspaceId, network);
  const handleOf = (id: string) => temporal.workflow.getHandle(postWorkflowId(id));
  const request = (inMs: number) => ({
    body: 'Hello',
    channel_ids: [channel],
    scheduled_at: new Date(Date.now() + inMs).toISOString(),
  });
  return {
    network,
    client,
    request,
    handleOf,
    /** @returns the id of a synced post that is due in `inMs`. */
    schedule: async (inMs: number): Promise<string> => {
      const { id } = (await client.post('/posts', request(inMs))).body.post;
      await poll(unsynced, (ids) => !ids.includes(id));
      await untilBegun(handleOf(id));
      return id;
    },
  };
}

test('a post that was scheduled while Temporal was unavailable goes out at its time', async (t) => {
  const { network, client, request } = await workspace();
  const { id, scheduled_at } = await unheard(t, async () => {
    const { post } = (await client.post('/posts', request(10_000))).body;
    return [post, post.id];
  });
  const post = await client.finalPost(id);
  t.true(Date.parse(post.published_at ?? '') >= Date.parse(scheduled_at));
  t.is(network.sends.length, 1);
});

test('a post that was cancelled while Temporal was unavailable does not go out, and its workflow ends', async (t) => {
  const { network, client, schedule, handleOf } = await workspace();
  const id = await schedule(3_600_000);
  await unheard(t, async () => {
    t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
    return [undefined, id];
  });

  await handleOf(id).result();
  t.is(network.sends.length, 0);
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test('a replay is accepted while Temporal is unavailable, and delivered when it returns', async (t) => {
  const { client, path, webhookId, receiver, store } = await shared().api.subscribe(status(204));
  const deliveryId = await store('failed');
  await unheard(t, async () => {
    t.is((await client.post(`${path}/deliveries/${deliveryId}/replay`)).status, 202);
    t.is((await client.get(path)).body.webhook.last_delivery.status, 'pending');
    return [undefined, deliveryId];
  });

  t.is((await client.finalDelivery(webhookId)).status, 'delivered');
  t.is(receiver.arrived.length, 1);
});

// A machine that loses its power or network, or is suspended, in the middle of a transaction keeps its locks. The
// server timeouts that end such sessions are a tenth of the product's here.

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

  const { status: end } = await poll(
    async () => (await client.get(`/posts/${post.id}`)).body.post,
    (shown) => shown.status !== 'scheduled' && shown.status !== 'publishing',
  );
  t.is(end, 'published');
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
