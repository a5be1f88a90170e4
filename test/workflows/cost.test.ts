import { blueskyAccount } from '../support/bluesky-account.ts';
import { addBlueskyChannel, networkPorts } from '../support/channels.ts';
import { newClient } from '../support/client.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startPunctual } from '../support/punctual.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal', 'pds');

test('a post on one channel without webhooks costs at most 18 history events', async (t) => {
  const punctual = await startPunctual(t, { allowPorts: networkPorts() });
  const client = await newClient(punctual);
  const channel = await addBlueskyChannel(punctual, client.workspaceId, await blueskyAccount());

  const { body } = await client.post('/posts', {
    body: 'Counted',
    channel_ids: [channel],
    scheduled_at: new Date(Date.now() + 8000).toISOString(),
  });
  const { workflow } = punctual.temporal.client;
  const handle = await untilBegun(workflow.getHandle(`post-${body.post.id}`), 5);
  const asleep = (await handle.fetchHistory()).events;
  t.is(await handle.result(), 'published');
  const { events = [] } = await handle.fetchHistory();

  t.log(`asleep: ${asleep?.length} events; finished: ${events?.length} events`);
  t.true((events?.length ?? 99) <= 18);
  t.is(asleep?.length, 5);
});
