import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';

const test = needs('test-server');
const day = 24 * 60 * 60_000;

test('a post that is scheduled a year ahead goes out in a year, and not before', async (t) => {
  const network = fakeNetwork();
  const sentAtMs: number[] = [];
  const punctual = await startTimeSkipping(t, network);
  const send = network.send.bind(network);
  network.send = async (...args) => {
    sentAtMs.push(await punctual.environment.currentTimeMs());
    return send(...args);
  };
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const dueAt = new Date(Date.now() + 365 * day);

  const { body } = await client.post('/posts', {
    body: 'Happy new year',
    channel_ids: [channel],
    scheduled_at: dueAt.toISOString(),
  });
  const handle = await untilBegun(
    punctual.environment.client.workflow.getHandle(`post-${body.post.id}`),
  );
  t.is(await handle.result(), 'published');

  t.like(await client.finalPost(body.post.id), { status: 'published' });
  t.is(sentAtMs.length, 1);
  const lateMs = (sentAtMs[0] ?? 0) - dueAt.getTime();
  t.log(`${lateMs} ms after its time`);
  t.true(lateMs >= 0 && lateMs < 60_000);
});
