import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startPunctual, type Punctual } from '../support/punctual.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal');

test('a post that was made a draft is not sent, even if the message about it was lost', async (t) => {
  const { network, punctual, client, schedule } = await world(t);
  const id = await schedule(2000);
  await punctual.orm.em.execute(
    `update posts set status = 'draft', scheduled_at = null, revision = 2, synced_revision = 2 where id = ?`,
    [id],
  );

  const { workflow } = punctual.temporal.client;
  const handle = await untilBegun(workflow.getHandle(postWorkflowId(id)));
  t.is(await handle.result(), 'gone');
  t.is(network.sends.length, 0);
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test('a post that was moved goes out at its new time, even if the message about it was lost', async (t) => {
  const { network, punctual, client, schedule } = await world(t);
  const id = await schedule(1000);
  const dueAt = new Date(Date.now() + 4000);
  await punctual.orm.em.execute(
    'update posts set scheduled_at = ?, revision = 2, synced_revision = 2 where id = ?',
    [dueAt, id],
  );

  await sleep(2500);
  t.is(network.sends.length, 0);
  const post = await client.finalPost(id);
  t.true(Date.parse(post.published_at ?? '') >= dueAt.getTime());
});

test('Cancel in the Temporal UI turns a sleeping post into a draft', async (t) => {
  const { network, punctual, client, schedule } = await world(t);
  const id = await schedule(60_000);
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  await untilBegun(handle, 5);

  await handle.cancel();

  await t.throwsAsync(handle.result());
  const { body } = await client.get(`/posts/${id}`);
  t.like(body.post, { status: 'draft', scheduled_at: null });
  t.is(body.post.channels[0].status, 'draft');
  t.is(network.sends.length, 0);
});

test('Reset in the Temporal UI of a post that is out sends nothing again', async (t) => {
  const { network, punctual, client, schedule } = await world(t);
  const id = await schedule(0);
  const before = await client.finalPost(id);
  const { workflow } = punctual.temporal.client;
  const handle = workflow.getHandle(postWorkflowId(id));
  await handle.result();
  const { events = [] } = await handle.fetchHistory();
  const firstTask = events?.find((event) => event.workflowTaskCompletedEventAttributes);

  await punctual.temporal.connection.workflowService.resetWorkflowExecution({
    namespace: punctual.temporal.namespace,
    workflowExecution: { workflowId: postWorkflowId(id), runId: (await handle.describe()).runId },
    workflowTaskFinishEventId: firstTask?.eventId ?? null,
    requestId: crypto.randomUUID(),
    reason: 'test',
  });

  t.is(await workflow.getHandle(postWorkflowId(id)).result(), 'gone');
  t.is(network.sends.length, 1);
  t.deepEqual((await client.get(`/posts/${id}`)).body.post, before);
});

test('an earlier time wins over a later one that arrives after it with a lower revision', async (t) => {
  const { network, punctual, client, schedule } = await world(t);
  const id = await schedule(60_000);
  const dueAt = new Date(Date.now() + 6000).toISOString();
  await punctual.orm.em.execute(
    'update posts set scheduled_at = ?, revision = 3 where id = ?', // The relay tells of this one.
    [dueAt, id],
  );
  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  await untilBegun(handle, 11);
  const late = new Date(Date.now() + 600_000).toISOString();
  await handle.signal('reschedule', { revision: 2, dueAt: late });

  await client.finalPost(id);
  t.is(network.sends.length, 1);
});

type World = {
  readonly network: FakeNetwork;
  readonly punctual: Punctual;
  readonly client: Client;
  /** @returns the id of a post that is due in so many milliseconds. */
  readonly schedule: (inMs: number) => Promise<string>;
};

async function world(t: ExecutionContext): Promise<World> {
  const network = fakeNetwork();
  const punctual = await startPunctual(t, { networks: { fake: network } });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const schedule = async (inMs: number): Promise<string> => {
    const { body } = await client.post('/posts', {
      body: 'Hello',
      channel_ids: [channel],
      schedule_in_minutes: inMs / 60_000,
    });
    return body.post.id;
  };
  return { network, punctual, client, schedule };
}
