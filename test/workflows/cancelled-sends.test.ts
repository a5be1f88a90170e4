import { NetworkError } from '../../networks/network.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
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
