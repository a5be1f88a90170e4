/**
 * Records the histories that `test/workflows/replay.test.ts` replays: one of each kind of workflow, asleep and
 * finished. Run it after a release that changes the workflows, and add what it writes under a new name; a stored
 * history is never replaced, because posts of its kind may still be asleep somewhere.
 *
 * Usage, with the services of the tests running: node test/histories/record.ts FOLDER
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { ExecutionContext } from 'ava';
import { postWorkflowId, cancel, reschedule } from '../../workflows/messages.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/fake-channel.ts';
import { fakeNetwork } from '../support/fake-network.ts';
import { startPunctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { untilBegun } from '../support/until-begun.ts';

const folder = process.argv[2] ?? 'test/histories';
const teardowns: (() => unknown)[] = [];
const t = {
  teardown: (work: () => unknown) => teardowns.unshift(work),
} as unknown as ExecutionContext;

const receiver = await startReceiver(t, (n) => (n === 1 ? 500 : 204));
const networks = { mastodon: fakeNetwork(), bluesky: fakeNetwork() };
const punctual = await startPunctual(t, { allowPorts: [receiver.port], networks });
const client = await newClient(punctual);
const channels = [
  await addFakeChannel(punctual.deps, client.workspaceId, 'mastodon'),
  await addFakeChannel(punctual.deps, client.workspaceId, 'bluesky'),
];
await mkdir(folder, { recursive: true });

await record('sleeping-post', await schedule(60), 5);
await record('rescheduled-post', await rescheduled(await schedule(60)), 11);
await record('cancelled-post', await cancelled(await schedule(60)));
await record('published-post', await finished(client, await schedule(0.02)));
await client.post('/webhooks', { url: receiver.url, events: ['post.published'] });
await record('published-post-with-webhook', await finished(client, await schedule(0)));
const [delivery] = await punctual.orm.em.execute<{ id: string }[]>('select id from deliveries');
await record('waiting-delivery', `delivery-${delivery?.id}`, 5);
for (const teardown of teardowns) {
  await teardown();
}

process.exit(0);

async function schedule(minutes: number): Promise<string> {
  const { body } = await client.post('/posts', {
    body: 'A text that must not be in any history',
    channel_ids: channels,
    schedule_in_minutes: minutes,
  });
  return postWorkflowId(body.post.id);
}

async function rescheduled(workflowId: string): Promise<string> {
  const dueAt = new Date(Date.now() + 7_200_000).toISOString();
  const handle = await handleOf(workflowId, 5);
  await handle.signal(reschedule, { revision: 2, dueAt });
  return workflowId;
}

async function cancelled(workflowId: string): Promise<string> {
  const handle = await handleOf(workflowId, 5);
  await handle.signal(cancel, { revision: 2 });
  await handle.result();
  return workflowId;
}

async function finished(of: Client, workflowId: string): Promise<string> {
  await of.finalPost(workflowId.replace('post-', ''));
  await punctual.temporal.client.workflow.getHandle(workflowId).result();
  return workflowId;
}

function handleOf(workflowId: string, events: number) {
  return untilBegun(punctual.temporal.client.workflow.getHandle(workflowId), events);
}

async function record(name: string, workflowId: string, minEvents = 1): Promise<void> {
  const history = await (await handleOf(workflowId, minEvents)).fetchHistory();
  // Who recorded it, on which machine, is nobody's business.
  const json = historyToJSON(history).replaceAll(/"identity": "[^"]*"/gv, '"identity": "recorder"');
  await writeFile(path.join(folder, `${name}.json`), `${json}\n`);
  console.log(`${name}: ${history.events?.length} events`);
}
