import type { ExecutionContext } from 'ava';
import type { ApiDeps } from '../../api/deps.ts';
import { cancelPost } from '../../api/posts/cancel-post.ts';
import { NetworkError } from '../../networks/network.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork, type FakeNetwork, heldNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';

const test = needs('temporal');
const hour = 60 * 60_000;

test('a post that was cancelled and scheduled anew goes out at its new time, even if the message about the cancel was lost', async (t) => {
  const network = fakeNetwork();
  const busy = { taken: 'no', retryAtMs: Date.now() + hour } as const;
  network.fates.push({
    kind: 'fails',
    error: new NetworkError('network_unavailable', 'Come back in an hour.', busy),
  });
  const { punctual, client, post } = await world(t, network, 0);
  await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
  );

  const silent = { ...punctual.deps, tellTemporal: () => undefined } as unknown as ApiDeps;
  await cancelPost(silent, { workspaceId: client.workspaceId, postId: post });
  await client.patch(`/posts/${post}`, { body: 'Better', schedule_in_minutes: 0 });

  t.is((await client.finalPost(post)).status, 'published');
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['Better'],
  );
});

test('a message that comes when the database has long said the same stops nothing', async (t) => {
  const network = heldNetwork();
  const { punctual, post } = await world(t, network, 3000);
  await punctual.orm.em.execute(
    'update posts set revision = 2, synced_revision = 2 where id = ?', // What an edit to this very time leaves behind.
    [post],
  );
  await network.held();
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(post));
  await handle.signal('reschedule', { revision: 2, dueAt: new Date().toISOString() });
  network.release();

  t.is(await handle.result(), 'published');
  t.is(network.live.length, 1);
});

async function world(t: ExecutionContext, network: FakeNetwork, inMs: number) {
  const punctual = await startPunctual(t, { networks: { fake: network } });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const request = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: inMs / 60_000 };
  const { body } = await client.post('/posts', request);
  const post: string = body.post.id;
  return { punctual, client, post };
}
