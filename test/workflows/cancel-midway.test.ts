import type { ExecutionContext } from 'ava';
import { postWorkflowId } from '../../workflows/messages.ts';
import { NetworkError, type Network } from '../../networks/network.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork, heldNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';

const test = needs('temporal');

test('a cancel lets a channel finish that is being sent, and stops one that has not begun', async (t) => {
  const slow = heldNetwork();
  const idle = fakeNetwork();
  const { client, channels, post, result } = await world(t, { slow, idle }, ['slow']);
  await slow.held();

  const reply = await client.post(`/posts/${post}/cancel`);
  t.is(reply.status, 200);
  t.deepEqual(reply.body, { ok: true, id: post, still_sending: 1 });
  const cancelled = (await client.get(`/posts/${post}`)).body.post;
  t.like(cancelled, { status: 'draft', scheduled_at: null });
  slow.release();

  t.is(await result(), 'draft');
  const after = (await client.get(`/posts/${post}`)).body.post;
  t.is(after.status, 'draft');
  t.like(after.channels[0], { channel_id: channels['slow'], status: 'published', error: null });
  t.like(after.channels[1], { channel_id: channels['idle'], status: 'draft', error: null });
  t.is(slow.live.length, 1);
  t.is(idle.sends.length, 0);
});

test('a post of which every channel finishes in spite of the cancel ends as if there had been none', async (t) => {
  const slow = heldNetwork();
  const { client, post, result, eventTypes } = await world(t, { slow });
  await slow.held();

  t.is((await client.post(`/posts/${post}/cancel`)).body.still_sending, 1);
  slow.release();

  t.is(await result(), 'published');
  t.is((await client.get(`/posts/${post}`)).body.post.status, 'published');
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a post that was cancelled midway and scheduled anew goes only where it is not', async (t) => {
  const slow = heldNetwork();
  const other = fakeNetwork();
  other.fates.push({ kind: 'fails', error: busy() });
  const { client, channels, post, eventTypes } = await world(t, { slow, other });
  await slow.held();
  await untilChannel(client, post, 1, 'retrying');
  t.is((await client.post(`/posts/${post}/cancel`)).body.still_sending, 1);
  const edited = await client.patch(`/posts/${post}`, { body: 'Better', schedule_in_minutes: 0 });
  t.is(edited.status, 200);
  t.is(edited.body.post.status, 'scheduled');
  slow.release();

  const final = await client.finalPost(post);
  t.is(final.status, 'published');
  t.deepEqual(
    slow.live.map(({ text }) => text),
    ['Hello'],
  );
  t.deepEqual(
    other.live.map(({ text }) => text),
    ['Better'],
  );
  t.deepEqual(
    final.channels.map(({ channel_id, body }) => [channel_id, body]),
    [
      [channels['slow'], 'Hello'],
      [channels['other'], 'Better'],
    ],
  );
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a channel that waits for an automatic retry is a draft after a cancel, and is not sent', async (t) => {
  const network = fakeNetwork();
  network.fates.push({ kind: 'fails', error: busy() });
  const { client, post, result } = await world(t, { network });
  await untilChannel(client, post, 0, 'retrying');

  t.is((await client.post(`/posts/${post}/cancel`)).body.still_sending, 0);

  t.is(await result(), 'draft');
  const { channels } = (await client.get(`/posts/${post}`)).body.post;
  t.like(channels[0], { status: 'draft', error: null, error_code: null, retry_at: null });
  t.is(network.live.length, 0);
});

test('a channel whose last send is in doubt stays so after a cancel, and is never sent again', async (t) => {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', { taken: 'unknown' });
  const { client, post, result } = await world(t, { network });
  await untilChannel(client, post, 0, 'retrying');

  await client.post(`/posts/${post}/cancel`);

  t.is(await result(), 'failed');
  const { channels } = (await client.get(`/posts/${post}`)).body.post;
  t.like(channels[0], { status: 'unconfirmed', error_code: 'unconfirmed' });
  t.is(network.sends.length, 1);
});

const busy = (): NetworkError =>
  new NetworkError('network_unavailable', 'They are busy.', { taken: 'no' });

type Getter = {
  readonly get: (path: string) => Promise<{ body: { post: { channels: { status: string }[] } } }>;
};

const untilChannel = (client: Getter, post: string, index: number, status: string) =>
  poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels[index]?.status,
    (found) => found === status,
  );

/** A post due now, on a channel of each network. @param working The networks that a worker serves; all by default. */
async function world(
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  working: readonly string[] = Object.keys(networks),
) {
  const punctual = await startApi(t, { networks });
  const served = Object.fromEntries(working.map((name) => [name, networks[name] as Network]));
  await startWorkers(t, { ...punctual, deps: { ...punctual.deps, networks: served } });
  const client = await newClient(punctual);
  const channels: Record<string, string> = {};
  for (const name of Object.keys(networks)) {
    channels[name] = await addFakeChannel(punctual.deps, client.workspaceId, name);
  }

  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post: string = body.post.id;
  return {
    client,
    channels,
    post,
    result: () => punctual.temporal.client.workflow.getHandle(postWorkflowId(post)).result(),
    eventTypes: async () => {
      const rows = await punctual.orm.em
        .fork()
        .execute<{ type: string }[]>('select type from events where post_id = ? order by id', [
          post,
        ]);
      return rows.map(({ type }) => type);
    },
  };
}
