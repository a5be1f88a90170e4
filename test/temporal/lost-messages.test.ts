import type { ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { NetworkError } from '../../networks/network.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('temporal');

type World = {
  readonly network: FakeNetwork;
  readonly client: Client;
  /** @returns the id of a post that is due in so many milliseconds, of which Temporal has heard. */
  readonly schedule: (inMs: number) => Promise<string>;
  readonly request: (inMs: number) => object;
  readonly handleOf: (
    id: string,
  ) => ReturnType<ReturnType<typeof temporalClient>['client']['workflow']['getHandle']>;
  /** Does something while neither the API nor the relay reach Temporal, and waits until Temporal has heard of it all the same. */
  readonly unheard: <T>(work: () => Promise<T>) => Promise<T>;
};

/** How long the relay has from Temporal's return on, in milliseconds. */
const promisedMs = 5000;

/** Only what is told goes through the gate: the workers reach Temporal all the time, as timers would go off. */
async function world(t: ExecutionContext): Promise<World> {
  const network = fakeNetwork();
  const real = await freshNamespace();
  const gate = await tcpGate(t, targetOf(real['TEMPORAL_ADDRESS'] ?? '', 7233));
  const temporalEnv = { ...real, TEMPORAL_ADDRESS: gate.address };
  const punctual = await startApi(t, { networks: { fake: network }, temporalEnv });
  await startWorkers(t, { ...punctual, temporalEnv: real });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const { workflow } = temporalClient(t, real).client;
  const handleOf = (id: string) => workflow.getHandle(postWorkflowId(id));
  const untold = async (): Promise<number> => {
    const sql = 'select id from posts where synced_revision < revision';
    return (await punctual.orm.em.fork().execute<unknown[]>(sql)).length;
  };
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
    schedule: async (inMs) => {
      const { id } = (await client.post('/posts', request(inMs))).body.post;
      await poll(untold, (count) => count === 0, 90_000);
      await untilBegun(handleOf(id));
      return id;
    },
    unheard: async (work) => {
      await gate.close();
      const result = await work();
      await sleep(2500); // The API gives up after 2 s.
      t.is(await untold(), 1);
      await gate.open();
      const began = Date.now();
      let slowestMs = 0;
      const look = async (): Promise<number> => {
        // How quick is Temporal itself on this machine, for whoever reaches it all the time?
        const asked = Date.now();
        const workflowId = `control-${asked}`;
        await workflow.start('nothing', { workflowId, taskQueue: 'nobody' });
        slowestMs = Math.max(slowestMs, Date.now() - asked);
        return untold();
      };
      await poll(look, (count) => count === 0, 90_000);
      const tookMs = Date.now() - began;
      t.log(`Temporal knew ${tookMs} ms after its return; its slowest answer took ${slowestMs} ms`);
      t.true(tookMs < promisedMs + 10 * slowestMs);
      return result;
    },
  };
}

test('a post that was scheduled while Temporal was away goes out at its time', async (t) => {
  const { network, client, request, unheard } = await world(t);
  const asked = request(10_000);
  const { id, scheduled_at } = (await unheard(() => client.post('/posts', asked))).body.post;
  const post = await client.finalPost(id, 90_000);
  t.true(Date.parse(post.published_at ?? '') >= Date.parse(scheduled_at));
  t.is(network.sends.length, 1);
});

test('a post that was overdue when Temporal came back goes out at once', async (t) => {
  const { network, client, request, unheard } = await world(t);
  const { id } = (await unheard(() => client.post('/posts', request(500)))).body.post;
  t.is((await client.finalPost(id, 90_000)).status, 'published');
  t.is(network.sends.length, 1);
});

test('a post that was moved to an earlier time while Temporal was away goes out at that time', async (t) => {
  const { network, client, schedule, unheard } = await world(t);
  const id = await schedule(3_600_000);
  const scheduled_at = new Date(Date.now() + 10_000).toISOString();
  t.is((await unheard(() => client.patch(`/posts/${id}`, { scheduled_at }))).status, 200);

  const post = await client.finalPost(id, 90_000);
  t.true(Date.parse(post.published_at ?? '') >= Date.parse(scheduled_at));
  t.is(network.sends.length, 1);
});

test('a post that was cancelled while Temporal was away does not go out, and its workflow ends', async (t) => {
  const { network, client, schedule, handleOf, unheard } = await world(t);
  const id = await schedule(60_000);
  t.is((await unheard(() => client.post(`/posts/${id}/cancel`))).status, 200);

  await handleOf(id).result();
  t.is(network.sends.length, 0);
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test('a retry that was asked for while Temporal was away is made when it is back', async (t) => {
  const { network, client, request, unheard } = await world(t);
  const error = new NetworkError('content_refused', 'No.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error });
  const { id } = (await client.post('/posts', request(500))).body.post;
  t.is((await client.finalPost(id, 90_000)).status, 'failed');

  t.is((await unheard(() => client.post(`/posts/${id}/retry`))).status, 202);

  t.is((await client.finalPost(id, 90_000)).status, 'published');
  t.is(network.live.length, 1);
});
