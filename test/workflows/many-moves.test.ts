import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { ownTemporal } from '../support/own-temporal.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';

const test = needs('temporal');
const hour = 60 * 60_000;

// Temporal asks for a new history at 4,096 events, which are some 600 moves; here it does at 60, which are nine.
test('a post that was moved a hundred times goes out once, at its last time', async (t) => {
  const network = fakeNetwork();
  const temporalEnv = await ownTemporal(t, ['limit.historyCount.suggestContinueAsNew=60']);
  const punctual = await startPunctual(t, { networks: { fake: network }, temporalEnv });
  const client = await newClient(punctual);
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: [await addFakeChannel(punctual.deps, client.workspaceId)],
    scheduled_at: at(hour),
  });
  const post: string = body.post.id;
  const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
  const first = await poll(
    () => handle.describe().catch(() => null),
    (found) => found !== null,
  );
  for (let move = 1; move < 100; move += 1) {
    const scheduled_at = at((move % 2 === 0 ? 1 : 2) * hour + move);
    t.is((await client.patch(`/posts/${post}`, { scheduled_at })).status, 200);
  }

  await poll(
    () => currentDetails(handle),
    (shown) => shown.includes('revision 100'),
  );
  const now = await handle.describe();
  t.not(now.runId, first?.runId);
  t.true(now.historyLength < 75, `${now.historyLength} events`);
  t.deepEqual(now.searchAttributes['WorkspaceId'], [client.workspaceId]);
  t.deepEqual(now.searchAttributes['Networks'], ['fake']);
  const last = at(2000);
  await client.patch(`/posts/${post}`, { scheduled_at: last });

  const { status, published_at } = await client.finalPost(post);
  t.is(status, 'published');
  t.true(Date.parse(published_at ?? '') >= Date.parse(last));
  t.is(network.sends.length, 1);
});
