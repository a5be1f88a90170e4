import type { WorkflowHandle } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { ownStepsOf } from '../support/waits.ts';
import { within } from '../support/within.ts';

const test = needs('temporal');
const second = 1000;
const hour = 3600 * second;

type Hold = { readonly asked: () => void; readonly released: Promise<void> };

/** A service with a workspace and a channel. Its workers hold the claims of some posts. */
async function started(t: ExecutionContext) {
  const punctual = await startApi(t, { networks: fakeNetworks });
  const holds = new Map<string, Hold>();
  await startWorkers(t, punctual, {
    adapt: (activities) => ({
      ...activities,
      claimPost: async (request) => {
        const hold = holds.get(request.postId);
        hold?.asked();
        await hold?.released;
        return activities.claimPost(request);
      },
    }),
  });
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const em = () => punctual.orm.em.fork();
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  return {
    punctual,
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
    /** Holds the claims of a post. `asked` resolves when one waits. */
    holdClaims: (postId: string) => {
      const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      holds.set(postId, { asked: asked.resolve, released: released.promise });
      return {
        asked: () => within(asked.promise, () => 'No worker claims the post.'),
        release: released.resolve,
      };
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
  };
}

/** Waits until a workflow sleeps until this time. */
const untilAsleepFor = (handle: WorkflowHandle, dueMs: number): Promise<string> =>
  poll(
    () => currentDetails(handle).catch(() => ''),
    (shown) => shown.includes(`Waiting until **${moment(dueMs)}** (revision 1)`),
  );

test('a post whose cancel or new time the database lost just before its workflow looked is not sent, and the workers have to stop', async (t) => {
  const { punctual, client, network, handleOf, asleep, at, backUp, holdClaims } = await started(t);
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
  const { client, network, asleep, at } = await started(t);
  for (const revision of [2 ** 31 - 2, 2 ** 31 - 1]) {
    const { id, handle } = await asleep(hour);
    const { scheduled_at } = (await client.get(`/posts/${id}`)).body.post;
    await handle.signal('reschedule', { revision, dueAt: at(0) });
    await untilAsleepFor(handle, Date.parse(scheduled_at));
    t.true((await ownStepsOf(handle)) <= 1);

    await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
    t.is((await client.finalPost(id)).status, 'published');
  }

  t.is(network.sends.length, 2);
});
