import type { WorkflowHandle } from '@temporalio/client';
import { NetworkError } from '../../networks/network.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { holdClaims, untilReleased } from '../support/held-claims.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks, timedNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { ownStepsOf, timerEnds } from '../support/waits.ts';

const test = needs('temporal');
const second = 1000;
const hour = 3600 * second;

/** Posts whose claims return `not_due` with a time in the past, again and again. */
const contradictory = new Set<string>();

const shared = beforeTests(test, async (scope) => {
  const punctual = await startApi(scope, { networks: fakeNetworks });
  await startWorkers(scope, punctual, {
    adapt: (activities) => ({
      ...activities,
      claimPost: async (request) => {
        await untilReleased(request.postId);
        const claim = await activities.claimPost(request);
        return contradictory.has(request.postId)
          ? { ...claim, kind: 'not_due', revision: 1, dueAt: new Date(0).toISOString() }
          : claim;
      },
    }),
  });
  return punctual;
});

/** A workspace with a channel. */
async function workspace<N extends FakeNetwork>(network: N) {
  const punctual = shared();
  const client = await newClient(punctual);
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const em = () => punctual.orm.em.fork();
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  return {
    client,
    network,
    handleOf,
    at,
    /** @returns a sleeping post and its workflow. */
    asleep: async (inMs: number) => {
      const post = { body: 'Hello', channel_ids: [channel], scheduled_at: at(inMs) };
      const id: string = (await client.post('/posts', post)).body.post.id;
      return { id, handle: await untilBegun(handleOf(id), 5) };
    },
    /** Reschedules a post, and resolves when its workflow has received the signal. */
    move: async (id: string, inMs: number): Promise<void> => {
      const scheduled_at = at(inMs);
      await client.patch(`/posts/${id}`, { scheduled_at });
      await poll(
        () => currentDetails(handleOf(id)).catch(() => ''), // A busy worker may not respond in time.
        (shown) => shown.includes(scheduled_at.slice(0, 19).replace('T', ' ').replace(/:00$/v, '')),
      );
    },
    /** @returns a function that restores the post's row to its current state. */
    backUp: async (id: string): Promise<() => Promise<unknown>> => {
      const [row] = await em().execute<{ revision: number; scheduled_at: string }[]>(
        'select revision, scheduled_at from posts where id = ?',
        [id],
      );
      const values = [row?.revision, row?.revision, row?.scheduled_at, id];
      return () =>
        em().execute(
          'update posts set revision = ?, synced_revision = ?, scheduled_at = ? where id = ?',
          values,
        );
    },
    /** Signals a cancel to Temporal whose commit was lost in a database failover. */
    tellLostCancel: (postId: string): Promise<void> =>
      syncPost(punctual.temporal.client, em(), {
        workspaceId: client.workspaceId,
        postId,
        status: 'draft',
        revision: 2,
        dueAt: null,
      }),
    eventTypes: async (id: string): Promise<string[]> => {
      const rows = await em().execute<{ type: string }[]>(
        'select type from events where post_id = ? and run is not null order by id',
        [id],
      );
      return rows.map(({ type }) => type);
    },
    scheduledMs: async (id: string): Promise<number> =>
      Date.parse((await client.get(`/posts/${id}`)).body.post.scheduled_at),
  };
}

/** Waits until a workflow sleeps until this time. */
const untilAsleepFor = (handle: WorkflowHandle, dueMs: number): Promise<string> =>
  poll(
    () => currentDetails(handle).catch(() => ''),
    (shown) => shown.includes(`Waiting until **${moment(dueMs)}** (revision 1)`),
  );

test('a post that the restored database has at an earlier time is published, without a failure event', async (t) => {
  const { client, network, asleep, at, backUp, eventTypes } = await workspace(fakeNetwork());
  const { id, handle } = await asleep(20 * second);
  const claims = holdClaims(id);
  const restore = await backUp(id);
  const edited = await client.patch(`/posts/${id}`, { scheduled_at: at(22 * second) });
  t.is(edited.status, 200);
  await claims.asked(); // The workflow has received the edit, and its new time has come.
  await restore();
  claims.release();

  t.is(await handle.result(), 'published');
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'published');
  t.is(network.sends.length, 1);
  t.deepEqual(await eventTypes(id), ['post.published']);
});

test('a post that the restored database has at a later time sleeps until then and goes out', async (t) => {
  const { client, network, asleep, at, backUp, scheduledMs } = await workspace(timedNetwork());
  const { id, handle } = await asleep(20 * second);
  const claims = holdClaims(id);
  const restore = await backUp(id);
  const edited = await client.patch(`/posts/${id}`, { scheduled_at: at(3 * second) });
  t.is(edited.status, 200);
  await claims.asked(); // The workflow has received the edit, and its new time has come.
  await restore();
  claims.release();
  const dueMs = await scheduledMs(id);

  t.is((await client.finalPost(id)).status, 'published');
  t.true((network.sentAtMs[0] ?? 0) >= dueMs);
  // Each claim is one step, and so is the finalize. A slow machine may receive the signal in between and add a claim.
  t.true((await ownStepsOf(handle)) <= 5);
  t.is(network.sentAtMs.length, 1);
});

test('an edit of a restored post takes effect although the lost edits had a higher or equal revision', async (t) => {
  const { client, network, asleep, move, backUp } = await workspace(fakeNetwork());
  for (const moves of [[2], [2, 4]]) {
    const { id } = await asleep(hour);
    const restore = await backUp(id);
    for (const hours of moves) {
      await move(id, hours * hour);
    }

    await restore();
    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    t.is((await client.finalPost(id)).status, 'published');
  }

  t.is(network.sends.length, 2);
});

test('a cancel of a restored post ends its workflow', async (t) => {
  const { client, network, asleep, move, backUp } = await workspace(fakeNetwork());
  const { id, handle } = await asleep(hour);
  const restore = await backUp(id);
  await move(id, 2 * hour);
  await restore();

  await client.post(`/posts/${id}/cancel`);
  t.is(await handle.result(), 'gone');
  t.is(network.sends.length, 0);
});

test('a post whose synced cancel was lost in a failover goes out at its time', async (t) => {
  const { client, network, asleep, at, scheduledMs, tellLostCancel } =
    await workspace(timedNetwork());
  const { id, handle } = await asleep(hour);
  // The workflow must have ended: a sync would take one that is about to end for the post's own, until a sweep finds
  // it.
  await handle.signal('cancel', { revision: 2 });
  t.is(await handle.result(), 'canceled');
  await shared()
    .orm.em.fork()
    .execute('update posts set scheduled_at = ? where id = ?', [at(3 * second), id]);
  await tellLostCancel(id);

  t.is((await client.finalPost(id)).status, 'published');

  t.true((network.sentAtMs[0] ?? 0) >= (await scheduledMs(id)));
  t.is(network.sentAtMs.length, 1);
});

test('after a forged reschedule signal the post keeps its time, and later edits take effect', async (t) => {
  const { client, network, asleep, at, scheduledMs } = await workspace(fakeNetwork());
  for (const made of [
    { revision: 99, dueAt: at(0) },
    { revision: 2 ** 31 - 1, dueAt: at(0) },
    { revision: 2 ** 31 - 1, dueAt: '9999-12-31T23:59:59Z' },
  ]) {
    const { id, handle } = await asleep(hour);
    const dueMs = await scheduledMs(id);
    await handle.signal('reschedule', made);
    await (made.dueAt.startsWith('9999')
      ? poll(
          () => timerEnds(handle),
          (ends) => ends.length === 2,
        )
      : untilAsleepFor(handle, dueMs));
    t.true((await ownStepsOf(handle)) <= 1);

    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    t.is((await client.finalPost(id)).status, 'published');
  }

  t.is(network.sends.length, 3);
});

test('a forged reschedule signal while a channel waits for its next attempt stops nothing', async (t) => {
  const network = fakeNetwork();
  const busy = { accepted: 'no', retryAtMs: Date.now() + 8 * second } as const;
  const error = new NetworkError('network_unavailable', 'Later.', busy);
  network.fates.push({ kind: 'fails', error });
  const { client, asleep, at, eventTypes } = await workspace(network);
  const { id, handle } = await asleep(2 * second);
  await poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
  );

  await handle.signal('reschedule', { revision: 99, dueAt: at(hour) });

  t.is(await handle.result(), 'published');
  t.deepEqual(await eventTypes(id), ['post.published']);
  t.is(network.live.length, 1);
});

test('a malformed signal is ignored, and the post is published', async (t) => {
  const { client, network, asleep, at } = await workspace(fakeNetwork());
  const { id, handle } = await asleep(hour);
  const dueAt = at(0);
  const revisions = [undefined, null, '5', 1.5, -1, 0, 2 ** 31, 1e308, [], {}];
  const times = [undefined, null, 'soon', '', Date.now(), '2027-02-30T00:00:00Z', {}];
  const given: unknown[][] = [
    [],
    [null],
    ['reschedule'],
    [5],
    [[]],
    ...revisions.map((revision) => [{ revision, dueAt }]),
    ...times.map((time) => [{ revision: 5, dueAt: time }]),
  ];
  const signal = handle.signal.bind(handle) as (...args: unknown[]) => Promise<void>;
  await Promise.all(given.map((args) => signal('reschedule', ...args)));
  await Promise.all(given.slice(0, -times.length).map((args) => signal('cancel', ...args)));

  await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
  t.is(await handle.result(), 'published');
  t.is(network.sends.length, 1);
  const { events } = await handle.fetchHistory();
  t.deepEqual(
    events?.filter((event) => event.workflowTaskFailedEventAttributes),
    [],
  );
  t.is((await timerEnds(handle)).length, 1);
});

test('posts whose claims contradict each other claim with growing delays, and delay no other post', async (t) => {
  const { client, network, asleep } = await workspace(fakeNetwork());
  const handles: WorkflowHandle[] = [];
  for (let made = 0; made < 6; made += 1) {
    const { id, handle } = await asleep(hour);
    contradictory.add(id);
    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    handles.push(handle);
  }

  for (const handle of handles) {
    const ends = await poll(
      () => timerEnds(handle),
      (found) => found.length >= 4,
    );
    // The first timer is the hour. The history has the requested waits, so a slow machine does not matter.
    const rests = ends.slice(2).map((endMs, index) => endMs - (ends[index + 1] ?? 0));
    t.true(
      rests.every((ms, index) => ms >= 1000 * 2 ** (index + 1)),
      rests.join(),
    );
  }

  const { id } = await asleep(0);
  t.is((await client.finalPost(id)).status, 'published');
  t.is(network.sends.length, 1);
  for (const handle of handles) {
    await handle.terminate();
  }
});
