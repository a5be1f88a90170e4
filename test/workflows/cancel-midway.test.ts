import { NetworkError } from '../../networks/network.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { status } from '../support/answers.ts';
import { newClient, type Client } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import {
  fakeNetwork,
  fakeNetworksNamed,
  heldNetwork,
  type FakeNetwork,
} from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { sharedWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');
const api = sharedWebhooks(test, { workers: true });

type Networks = Readonly<Record<string, FakeNetwork>>;

/** Schedules a post for now, with a channel on each of these networks. */
async function post<N extends Networks>(networks: N) {
  return schedule(api.punctual, await api.newClient(), networks, () => 'fake');
}

async function schedule<N extends Networks>(
  punctual: Punctual,
  client: Client,
  networks: N,
  platformOf: (name: string) => string,
) {
  const connected: [string, string][] = [];
  for (const [name, network] of Object.entries(networks)) {
    const platform = platformOf(name);
    connected.push([name, await fakeChannel(punctual, client.workspaceId, network, platform)]);
  }

  const content = {
    body: 'Hello',
    channel_ids: connected.map(([, channel]) => channel),
    schedule_in_minutes: 0,
  };
  const id: string = (await client.post('/posts', content)).body.post.id;
  const shown = async () => (await client.get(`/posts/${id}`)).body.post;
  return {
    client,
    channels: Object.fromEntries(connected) as Readonly<Record<keyof N, string>>,
    id,
    shown,
    /** Waits until the post's channel at `index` has this status. */
    untilChannel: (index: number, wanted: string) =>
      poll(
        async () => (await shown()).channels[index]?.status,
        (found) => found === wanted,
      ),
    result: () => punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).result(),
    eventTypes: async () => {
      const rows = await punctual.orm.em
        .fork()
        .execute<{ type: string }[]>(
          'select type from events where post_id = ? and run is not null order by id',
          [id],
        );
      return rows.map(({ type }) => type);
    },
  };
}

const failure = (code: NetworkError['code']): NetworkError =>
  new NetworkError(code, 'No.', { accepted: 'no' });

/** A network that refuses the next send. */
function failing(code: NetworkError['code']): FakeNetwork {
  const network = fakeNetwork();
  network.fates.push({ kind: 'fails', error: failure(code) });
  return network;
}

test('a cancel lets a channel that is being sent finish, and stops one that has not begun', async (t) => {
  const slow = heldNetwork();
  const idle = fakeNetwork();
  // No worker serves the network `idle`, so its channel cannot begin.
  const networks = fakeNetworksNamed('slow', 'idle');
  const punctual = await startApi(t, { networks });
  const { slow: served = slow } = networks;
  await startWorkers(t, { ...punctual, deps: { ...punctual.deps, networks: { slow: served } } });
  const { client, channels, id, shown, result } = await schedule(
    punctual,
    await newClient(punctual),
    { slow, idle },
    (name) => name,
  );
  await slow.held();

  const reply = await client.post(`/posts/${id}/cancel`);
  t.is(reply.status, 200);
  t.like(reply.body, { ok: true, id, still_sending: 1 });
  const cancelled = await shown();
  t.like(cancelled, { status: 'draft', scheduled_at: null });
  slow.release();

  t.is(await result(), 'stopped');
  const after = await shown();
  t.is(after.status, 'draft');
  t.like(after.channels[0], { channel_id: channels.slow, status: 'published', error: null });
  t.like(after.channels[1], { channel_id: channels.idle, status: 'draft', error: null });
  t.is(slow.live.length, 1);
  t.is(idle.sends.length, 0);
});

test('a post that is in doubt when it is cancelled is reconciled, found, and ends with its event', async (t) => {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', {
    accepted: 'unknown',
    retryAtMs: Date.now() + 3_600_000,
  });
  const { client, id, untilChannel, result, eventTypes } = await post({ network });
  await untilChannel(0, 'retrying');
  network.blind = undefined;

  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);

  t.is(await result(), 'published');
  t.is(network.sends.length, 1);
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a post that was cancelled midway and rescheduled is sent only to the channels without it', async (t) => {
  const slow = heldNetwork();
  const other = failing('network_unavailable');
  const { client, channels, id, untilChannel, eventTypes } = await post({ slow, other });
  await slow.held();
  await untilChannel(1, 'retrying');
  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  const edited = await client.patch(`/posts/${id}`, { body: 'Better', schedule_in_minutes: 0 });
  t.is(edited.status, 200);
  t.is(edited.body.post.status, 'scheduled');
  slow.release();

  const final = await client.finalPost(id);
  t.is(final.status, 'published');
  t.is(slow.live.map(({ text }) => text).join(), 'Hello');
  t.is(other.live.map(({ text }) => text).join(), 'Better');
  t.deepEqual(
    final.channels.map(({ channel_id, body }) => [channel_id, body]),
    [
      [channels.slow, 'Hello'],
      [channels.other, 'Better'],
    ],
  );
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a channel that waits for an automatic retry is a draft after a cancel, and is not sent', async (t) => {
  const network = failing('network_unavailable');
  const { client, id, shown, untilChannel, result } = await post({ network });
  await untilChannel(0, 'retrying');

  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 0);

  t.is(await result(), 'stopped');
  const { channels } = await shown();
  t.like(channels[0], { status: 'draft', error: null, error_code: null, retry_at: null });
  t.is(network.live.length, 0);
});

test('a retry sends only to the failed channels and creates a new event', async (t) => {
  const [good, bad] = [fakeNetwork(), failing('content_refused')];
  const { client, id, shown, channels, eventTypes } = await post({ good, bad });
  t.is((await client.finalPost(id)).status, 'failed');
  t.deepEqual(await eventTypes(), ['post.partial']);

  const reply = await client.post(`/posts/${id}/retry`);
  t.is(reply.status, 202);
  t.like(reply.body, { id, retrying: [channels.bad] });

  await poll(
    async () => (await shown()).status,
    (found) => found === 'published',
  );
  t.is(good.sends.length, 1);
  t.is(bad.live.length, 1);
  t.deepEqual(await eventTypes(), ['post.partial', 'post.published']);
});

test('a retry has a publish window of its own, however long ago the post was due', async (t) => {
  const [good, bad] = [fakeNetwork(), failing('content_refused')];
  const { client, id, shown } = await post({ good, bad });
  await client.finalPost(id);
  await api.punctual.orm.em
    .fork()
    .execute(`update posts set scheduled_at = scheduled_at - interval '3 days' where id = ?`, [id]);
  bad.fates.push({ kind: 'fails', error: failure('network_unavailable') });

  t.is((await client.post(`/posts/${id}/retry`)).status, 202);

  const ended = await poll(
    async () => (await shown()).channels[1],
    (found) => found.status !== 'scheduled' && found.status !== 'publishing',
  );
  t.like(ended, { status: 'retrying', error_code: 'network_unavailable' });
});

/** A post whose only send is unconfirmed, with a webhook for `events`. */
async function postInDoubt(events: readonly string[]) {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('unconfirmed', 'Nobody can tell.', { accepted: 'unknown' });
  const client = await api.newClient();
  const receiver = api.receiver(status(204));
  await client.post('/webhooks', { url: receiver.url, events });
  const made = await schedule(api.punctual, client, { network }, () => 'fake');
  return { ...made, network, receiver };
}

test('a webhook receives the event of a settle, and another one when a retry has sent the post', async (t) => {
  const { network, receiver, client, id, channels } = await postInDoubt([
    'post.published',
    'post.failed',
  ]);
  t.like((await client.finalPost(id)).channels[0], { status: 'unconfirmed' });
  await receiver.nth(1);
  await api.punctual.orm.em
    .fork()
    .execute(
      `update post_parts set sending_at = sending_at - interval '2 minutes' where workspace_id = ?`,
      [client.workspaceId],
    );

  const answer = { channel_id: channels.network, url: null };
  const reply = await client.post(`/posts/${id}/settle`, answer);

  t.is(reply.status, 200, JSON.stringify(reply.body));
  const second = JSON.parse((await receiver.nth(2)).body);
  t.is(second.type, 'post.failed');
  t.deepEqual(second.data, reply.body);
  network.blind = undefined;
  network.live.pop();
  t.is((await client.post(`/posts/${id}/retry`)).status, 202);
  const third = JSON.parse((await receiver.nth(3)).body);
  t.is(third.type, 'post.published');
  t.is(network.live.length, 1);
  t.is(receiver.arrived.length, 3);
});
