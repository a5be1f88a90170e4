import { cancelPost } from '../../services/posts/cancel-post.ts';
import { NetworkError } from '../../networks/network.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { currentDetails } from '../support/current-details.ts';
import { sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import {
  fakeNetwork,
  timedNetwork,
  type FakeNetwork,
  accountOn,
  liveTexts,
} from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { fakeChannel, storeUnsynced, addFakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { timerEnds } from '../support/waits.ts';
import { endOf } from '../support/end-of.ts';

const test = needs('temporal');
const api = sharedPunctual(test);
const hour = 60 * 60_000;

/** A workspace with a channel. */
async function workspace<N extends FakeNetwork>(network: N) {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  /** @returns the id of a post that is due in `inMs`. */
  const schedule = async (inMs: number): Promise<string> => {
    const { body } = await client.post('/posts', {
      body: 'Hello',
      channel_ids: [channel],
      schedule_in_minutes: inMs / 60_000,
    });
    return body.post.id;
  };
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  return { network, punctual, client, schedule, handleOf };
}

/**
 * Changes a post shortly before its due time, without a signal to its sleeping workflow. When the machine was too slow
 * for that, tries a new post with twice the time.
 *
 * @param change SQL assignments; `revision = 2, synced_revision = 2` is added, as if the post were synced.
 */
async function changedUnheard<N extends FakeNetwork>(network: () => N, change: string) {
  for (let inMs = 3000; ; inMs *= 2) {
    const made = await workspace(network());
    const id = await made.schedule(inMs);
    const handle = await untilBegun(made.handleOf(id));
    const rows = await made.punctual.orm.em.fork().execute<unknown[]>(
      `update posts set ${change}revision = 2, synced_revision = 2
       where id = ? and status = 'scheduled' returning id`,
      [id],
    );
    if (rows.length === 1) {
      return { ...made, id, handle };
    }
  }
}

test('a post that was made a draft is not sent, even if its signal was lost', async (t) => {
  const draft = `status = 'draft', scheduled_at = null, `;
  const { network, client, id, handle } = await changedUnheard(fakeNetwork, draft);

  t.is(await handle.result(), 'stopped');
  t.is(network.sends.length, 0);
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test('a cancel that reaches Temporal before the start that it overtook sends nothing', async (t) => {
  const { network, punctual, client } = await workspace(fakeNetwork());
  const { workspaceId } = client;
  const dueAt = new Date(Date.now() + 2000).toISOString();
  const postId = await storeUnsynced(punctual, workspaceId, dueAt);
  await cancelPost(punctual.deps, { workspaceId, postId });
  const em = punctual.orm.em.fork();
  const { client: temporal } = punctual.temporal;
  const post = { workspaceId, postId };
  await syncPost(temporal, em, { ...post, status: 'draft', revision: 2, dueAt: null });
  await syncPost(temporal, em, { ...post, status: 'scheduled', revision: 1, dueAt });

  t.is(await temporal.workflow.getHandle(postWorkflowId(postId)).result(), 'stopped');
  t.is(network.sends.length, 0);
});

test('a rescheduled post goes out at its new time, even if its signal was lost', async (t) => {
  const later = `scheduled_at = scheduled_at + interval '3 seconds', `;
  const { network, client, id } = await changedUnheard(timedNetwork, later);
  const { scheduled_at } = (await client.get(`/posts/${id}`)).body.post;

  const post = await client.finalPost(id);
  t.true(Date.parse(post.published_at ?? '') >= Date.parse(scheduled_at));
  t.is(network.sentAtMs.length, 1);
  t.true((network.sentAtMs[0] ?? 0) >= Date.parse(scheduled_at));
});

test('Cancel in the Temporal UI turns a sleeping post into a draft', async (t) => {
  const { network, client, schedule, handleOf } = await workspace(fakeNetwork());
  const id = await schedule(hour);
  const handle = await untilBegun(handleOf(id), 5);

  await handle.cancel();

  await t.throwsAsync(handle.result());
  const { body } = await client.get(`/posts/${id}`);
  t.like(body.post, { status: 'draft', scheduled_at: null });
  t.is(body.post.channels[0].status, 'draft');
  t.is(network.sends.length, 0);
});

test('Reset in the Temporal UI does not send a published post again', async (t) => {
  const { network, punctual, client, schedule, handleOf } = await workspace(fakeNetwork());
  const id = await schedule(0);
  const before = await client.finalPost(id);
  const handle = handleOf(id);
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

  t.is(await handleOf(id).result(), 'published');
  t.is(network.sends.length, 1);
  t.deepEqual((await client.get(`/posts/${id}`)).body.post, before);
});

test('an earlier time wins over a later one that arrives after it with a lower revision', async (t) => {
  const { network, punctual, client, schedule, handleOf } = await workspace(fakeNetwork());
  const id = await schedule(hour);
  const handle = await untilBegun(handleOf(id), 5);
  const dueAt = new Date(Date.now() + hour / 2).toISOString();
  const earlier = `until **${moment(Date.parse(dueAt))}** (revision 3)`;
  await punctual.orm.em.fork().execute(
    'update posts set scheduled_at = ?, revision = 3 where id = ?', // The relay syncs it.
    [dueAt, id],
  );
  await poll(
    () => currentDetails(handle),
    (shown) => shown.includes(earlier),
  );
  const late = new Date(Date.now() + 2 * hour).toISOString();
  await handle.signal('reschedule', { revision: 2, dueAt: late });

  t.true((await currentDetails(handle)).includes(earlier));
  // It sleeps until the row's time, not until the time of the start or of the late signal.
  const { scheduled_at } = (await client.get(`/posts/${id}`)).body.post;
  await poll(
    () => timerEnds(handle),
    (ends) => Math.abs((ends.at(-1) ?? Number.NaN) - Date.parse(scheduled_at)) < hour / 6,
  );
  await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
  await client.finalPost(id);
  t.is(network.sends.length, 1);
});

test('a post that was cancelled and rescheduled goes out at its new time, even if the cancel signal was lost', async (t) => {
  const network = fakeNetwork();
  const busy = { accepted: 'no', retryAtMs: Date.now() + hour } as const;
  network.fates.push({
    kind: 'fails',
    error: new NetworkError('network_unavailable', 'Come back in an hour.', busy),
  });
  const { punctual, client, schedule } = await workspace(network);
  const post = await schedule(0);
  await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
  );

  await cancelPost(punctual.deps, { workspaceId: client.workspaceId, postId: post });
  await client.patch(`/posts/${post}`, { body: 'Better', schedule_in_minutes: 0 });

  t.is((await client.finalPost(post)).status, 'published');
  t.is(network.live.map(({ text }) => text).join(), 'Better');
});

/** The result of a post's workflow; undefined while it runs. */
async function endOfPost(postId: string): Promise<unknown> {
  const { client } = api.punctual.temporal;
  const handle = client.workflow.getHandle(postWorkflowId(postId));
  const { status } = await handle.describe();
  return status.name === 'RUNNING' ? undefined : endOf(handle);
}

test('a scheduled post fails at its time on a disconnected account, and goes out where it was connected again', async (t) => {
  const client = await api.newClient();
  const [lost, back] = [fakeNetwork(), fakeNetwork()];
  const gone = await fakeChannel(api.punctual, client.workspaceId, lost);
  const account = { remoteId: accountOn(back) };
  const connect = () => addFakeChannel(api.punctual.deps, client.workspaceId, 'fake', account);
  const again = await connect();
  const at = new Date(Date.now() + 20_000).toISOString();
  const request = { body: 'x', channel_ids: [gone, again], scheduled_at: at };
  const id: string = (await client.post('/posts', request)).body.post.id;

  for (const channel of [gone, again]) {
    t.is((await client.delete(`/channels/${channel}`)).body.scheduled_posts, 1);
  }

  t.is(await connect(), again);
  const post = await client.finalPost(id);
  t.like(post, { status: 'failed', summary: { published: 1, failed: 1 } });
  t.like(post.channels[0], { status: 'failed', error_code: 'disconnected' });
  t.deepEqual([lost.sends.length, liveTexts(back)], [0, ['x']]);
  t.is(
    await poll(
      () => endOfPost(id),
      (end) => end !== undefined,
    ),
    'post_partial',
  );
});
