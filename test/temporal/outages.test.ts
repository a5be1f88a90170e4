import type { ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { postWorkflowId } from '../../workflows/messages.ts';
import { status } from '../support/answers.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { rendezvous } from '../support/rendezvous.ts';
import { fakeChannel } from '../support/seed.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startWebhooks } from '../support/webhooks.ts';

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
