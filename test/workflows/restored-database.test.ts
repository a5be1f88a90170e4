import type { WorkflowHandle } from '@temporalio/client';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { holdClaims, untilReleased } from '../support/held-claims.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { ownStepsOf } from '../support/waits.ts';

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
