import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import type { PostToSync } from '../../domain/to-sync.ts';

const test = needs('temporal');
const second = 1000;

test('a post whose cancel was lost in a failover goes out at its time, also when its workflow was about to end for the cancel', async (t) => {
  const punctual = await startApi(t, { networks: fakeNetworks });
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const scheduled_at = new Date(Date.now() + 20 * second).toISOString();
  const post = { body: 'Hello', channel_ids: [channel], scheduled_at };
  const postId: string = (await client.post('/posts', post)).body.post.id;
  const stop = await startWorkers(t, punctual);
  await untilBegun(punctual.temporal.client.workflow.getHandle(postWorkflowId(postId)), 5);
  await stop(); // So that the workflow receives the cancel and the next signal in one task.
  const sync = (row: Pick<PostToSync, 'status' | 'revision' | 'dueAt'>) =>
    syncPost(punctual.temporal.client, punctual.orm.em.fork(), {
      workspaceId: client.workspaceId,
      postId,
      ...row,
    });
  await sync({ status: 'draft', revision: 2, dueAt: null });
  await sync({ status: 'scheduled', revision: 1, dueAt: scheduled_at });
  await startWorkers(t, punctual);

  t.is((await client.finalPost(postId)).status, 'published');
  t.is(network.sends.length, 1);
});
