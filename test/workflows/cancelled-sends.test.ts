import { NetworkError } from '../../networks/network.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, heldNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { fakeChannel } from '../support/seed.ts';
import { sharedWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');
const api = sharedWebhooks(test, { workers: true });

/** A thread that is due now, on one channel. */
async function post(network: FakeNetwork, thread: readonly string[]) {
  const client = await api.newClient();
  const channel = await fakeChannel(api.punctual, client.workspaceId, network);
  const content = { thread, channel_ids: [channel], schedule_in_minutes: 0 };
  const id: string = (await client.post('/posts', content)).body.post.id;
  const shown = async () => (await client.get(`/posts/${id}`)).body.post;
  return {
    client,
    id,
    shown,
    untilChannel: (wanted: string) =>
      poll(
        async () => (await shown()).channels[0]?.status,
        (found) => found === wanted,
      ),
    result: () => api.punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).result(),
    eventTypes: async () => {
      const sql = 'select type from events where post_id = ? and run is not null order by id';
      const rows = await api.punctual.orm.em.fork().execute<{ type: string }[]>(sql, [id]);
      return rows.map(({ type }) => type);
    },
  };
}

/** Waits until no activity is pending: the workflow sleeps until the post's time. */
const untilAsleep = (id: string) => {
  const handle = api.punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  return poll(
    async () => ((await handle.describe()).raw.pendingActivities ?? []).length,
    (pending) => pending === 0,
  );
};

/** A post that its network has, while each reconcile fails. */
async function postInDoubt() {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', {
    accepted: 'unknown',
    retryAtMs: Date.now() + 3_600_000,
  });
  const made = await post(network, ['Hello']);
  await made.untilChannel('retrying');
  return { network, ...made };
}

test('a post that is in doubt when it is cancelled is reconciled, found, and ends with its event', async (t) => {
  const { network, client, id, result, eventTypes } = await postInDoubt();
  network.blind = undefined;

  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);

  t.is(await result(), 'published');
  t.is(network.sends.length, 1);
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a rescheduled post in doubt is reconciled as soon as it is cancelled again, not at its new time', async (t) => {
  const { network, client, id, result, eventTypes } = await postInDoubt();
  await client.post(`/posts/${id}/cancel`);
  await client.patch(`/posts/${id}`, { schedule_in_minutes: 600 });
  await untilAsleep(id);
  network.blind = undefined;

  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);

  t.is(await result(), 'published');
  t.is(network.sends.length, 1);
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a thread that is cancelled during its first part and then rate limited keeps that part, and a new time sends the rest', async (t) => {
  const slow = heldNetwork();
  const { client, id, shown, result, eventTypes } = await post(slow, ['One', 'Two']);
  await slow.held();
  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  const retryAtMs = Date.now() + 3_600_000;
  const error = new NetworkError('rate_limited', 'Slowly.', { accepted: 'no', retryAtMs });
  slow.fates.push({ kind: 'taken' }, { kind: 'fails', error });
  slow.release();

  t.is(await result(), 'stopped');
  const { status, channels } = await shown();
  t.is(status, 'draft');
  const live = slow.live[0]?.sent.url;
  t.like(channels[0], { status: 'failed', error_code: 'cancelled', retryable: false });
  t.true(channels[0].error.includes(live), channels[0].error);
  t.deepEqual(await eventTypes(), []);

  const edited = await client.patch(`/posts/${id}`, { schedule_in_minutes: 600 });
  t.like(edited.body.post.channels[0], { status: 'scheduled', error: null, url: live });
  t.is(slow.live.length, 1);
});

test('a thread that is cancelled during its first part goes out as a whole', async (t) => {
  const slow = heldNetwork();
  const { client, id, result, eventTypes } = await post(slow, ['One', 'Two']);
  await slow.held();
  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  slow.release();

  t.is(await result(), 'published');
  t.is(slow.live.length, 2);
  t.deepEqual(await eventTypes(), ['post.published']);
});

test('a send that fails after its post was cancelled is not repeated', async (t) => {
  const slow = heldNetwork();
  const { client, id, shown, result } = await post(slow, ['Hello']);
  await slow.held();
  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  const error = new NetworkError('network_unavailable', 'Later.', { accepted: 'no' });
  slow.fates.push({ kind: 'fails', error });
  slow.release();

  t.is(await result(), 'stopped');
  const { status, channels } = await shown();
  t.is(status, 'draft');
  t.like(channels[0], { status: 'draft', error: null });
  t.is(slow.live.length, 0);
});
