import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { completeRestore } from '../../cli/admin/installation.ts';
import { NetworkError } from '../../networks/network.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { holdClaims, untilReleased } from '../support/held-claims.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks, timedNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startPunctual, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { ownStepsOf, timerEnds } from '../support/waits.ts';

const test = needs('temporal');
const second = 1000;
const hour = 3600 * second;

/** Posts whose claims return `not_due` with a time in the past, again and again. */
const contradictory = new Set<string>();

async function started(scope: Parameters<typeof startApi>[0]) {
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
}

const shared = beforeTests(test, started);

/** A workspace with a channel. */
async function workspace<N extends FakeNetwork>(network: N, punctual = shared()) {
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
    makeDraft: async (): Promise<string> =>
      (await client.post('/posts', { body: 'Hello', channel_ids: [channel] })).body.post.id,
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
      const [row] = await em().execute<
        { revision: number; status: string; scheduled_at: string }[]
      >('select revision, status, scheduled_at from posts where id = ?', [id]);
      const values = [row?.revision, row?.revision, row?.status, row?.scheduled_at, id];
      return () =>
        em().execute(
          'update posts set revision = ?, synced_revision = ?, status = ?, scheduled_at = ? where id = ?',
          values,
        );
    },
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

test('a post whose cancel or new time the database lost just before its workflow looked is not sent, and the workers have to stop', async (t) => {
  const punctual = await started(t);
  const { client, network, handleOf, asleep, at, backUp } = await workspace(
    fakeNetwork(),
    punctual,
  );
  const behindSince = async () => (await readRestoreCounter(punctual.orm)).behindSince;
  const changes = [
    (id: string) => client.post(`/posts/${id}/cancel`),
    (id: string) => client.patch(`/posts/${id}`, { scheduled_at: at(10 * second) }),
    (id: string) => client.patch(`/posts/${id}`, { scheduled_at: at(0) }),
  ];
  for (const change of changes) {
    const { id } = await asleep(8 * second);
    const claims = holdClaims(id);
    const restore = await backUp(id);
    t.is((await change(id)).status, 200);
    await claims.asked(); // The workflow knows the change.
    await restore();
    claims.release();

    t.truthy(await poll(behindSince, Boolean));
    t.is((await client.get(`/posts/${id}`)).body.post.status, 'scheduled');
    await handleOf(id).terminate();
    await punctual.orm.em.fork().execute('update installation set behind_since = null');
  }

  t.is(network.sends.length, 0);
});

test('a post that sleeps until a time that two restores lost goes out once, at the time of the database', async (t) => {
  const punctual = await startPunctual(t, { networks: fakeNetworks });
  const { client, network, asleep, makeDraft, move, backUp, scheduledMs } = await workspace(
    timedNetwork(),
    punctual,
  );
  const { id, handle } = await asleep(25 * second);
  const draft = await makeDraft();
  const restores = [await backUp(id), await backUp(draft)];
  for (const hours of [2, 4]) {
    await move(id, hours * hour);
    await move(id, (hours + 1) * hour);
    await move(draft, hours * hour);
    await Promise.all(restores.map((restore) => restore()));
    // Revisions after a restore count seconds, and the two moves took two of them.
    await sleep(3000);
    await completeRestore(punctual.orm, punctual.temporal.client, new Date());
  }

  const dueMs = await scheduledMs(id);
  t.is((await client.finalPost(id)).status, 'published');
  t.is(await handle.result(), 'published');
  t.is(network.sentAtMs.length, 1);
  t.true((network.sentAtMs[0] ?? 0) >= dueMs);
  await client.patch(`/posts/${draft}`, { schedule_in_minutes: 0 });
  t.is((await client.finalPost(draft)).status, 'published');
  t.is(network.sentAtMs.length, 2);
});

test('after a forged reschedule signal the post keeps its time, and later edits take effect', async (t) => {
  const { client, network, asleep, at, scheduledMs } = await workspace(fakeNetwork());
  for (const revision of [2 ** 31 - 2, 2 ** 31 - 1]) {
    const { id, handle } = await asleep(hour);
    const dueMs = await scheduledMs(id);
    await handle.signal('reschedule', { revision, dueAt: at(0) });
    await untilAsleepFor(handle, dueMs);
    t.true((await ownStepsOf(handle)) <= 1);

    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    t.is((await client.finalPost(id)).status, 'published');
  }

  t.is(network.sends.length, 2);
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

  await handle.signal('reschedule', { revision: 2 ** 31 - 1, dueAt: at(hour) });

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

test('posts whose claims contradict each other rest between their claims, and delay no other post', async (t) => {
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
      rests.every((ms) => ms >= 1000),
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
