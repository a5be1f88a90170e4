import { NetworkError } from '../../networks/network.ts';
import { platforms } from '../../networks/registry.ts';
import { unpublishWorkflowId } from '../../workflows/messages.ts';
import { endOf } from '../support/end-of.ts';
import { poll } from '../support/poll.ts';
import type { Stage } from './recorder.ts';

/** Stores the history of a workflow. */
export type Keep = (kind: string, workflowId: string, minEvents?: number) => Promise<void>;

export async function recordPosts(stage: Stage, keep: Keep): Promise<void> {
  await recordAsleep(stage, keep);
  await recordFinished(stage, keep);
  await recordMidway(stage, keep);
  await recordCancelledAgain(stage, keep);
  await recordUnheard(stage, keep);
  await recordRemovals(stage, keep);
}

async function recordAsleep({ client, schedule, handleOf }: Stage, keep: Keep): Promise<void> {
  await keep('sleeping-post', idOf(await schedule(60)), 5);

  const moved = await schedule(60);
  await handleOf(idOf(moved), 5);
  await client.patch(`/posts/${moved}`, { schedule_in_minutes: 120 });
  await keep('rescheduled-post', idOf(moved), 11);

  const cancelled = await schedule(60);
  await handleOf(idOf(cancelled), 5);
  await client.post(`/posts/${cancelled}/cancel`);
  await (await handleOf(idOf(cancelled))).result();
  await keep('cancelled-post', idOf(cancelled));

  const stopped = await handleOf(idOf(await schedule(60)), 5);
  await stopped.cancel();
  await stopped.result().catch(() => undefined); // It ends as cancelled, as intended.
  await keep('stopped-in-ui-post', stopped.workflowId);
}

async function recordFinished(stage: Stage, keep: Keep): Promise<void> {
  const { client, first, schedule } = stage;
  const finish = async (kind: string, post: string): Promise<void> => {
    await client.finalPost(post);
    await endOf(await stage.handleOf(idOf(post)));
    await keep(kind, idOf(post));
  };
  await finish('published-post', await schedule(0.1));
  await finish('five-channels-post', await schedule(0.1, platforms));

  const refusal = new NetworkError('content_refused', 'Not this.', { accepted: 'no' });
  first.fates.push({ kind: 'fails', error: refusal });
  const failed = await schedule(0);
  await finish('failed-post', failed);
  await client.post(`/posts/${failed}/retry`);
  await finish('retried-post', failed);
}

/** Posts with one channel that is being sent and another one that waits for its next attempt. */
async function recordMidway(stage: Stage, keep: Keep): Promise<void> {
  const { client, first, firstName, held, schedule, handleOf } = stage;
  const begin = async (platform: string, index: 0 | 1): Promise<string> => {
    const busy = new NetworkError('network_unavailable', 'Later.', { accepted: 'no' });
    first.fates.push({ kind: 'fails', error: busy });
    const post = await schedule(0, [firstName, platform]);
    await held[index].held();
    await poll(
      async () => (await client.get(`/posts/${post}`)).body.post.channels[0].status,
      (status) => status === 'retrying',
    );
    await client.post(`/posts/${post}/cancel`);
    return post;
  };
  const cancelled = await begin('held', 0);
  held[0].release();
  await (await handleOf(idOf(cancelled))).result();
  await keep('cancelled-midway-post', idOf(cancelled));

  const anew = await begin('held-too', 1);
  await client.patch(`/posts/${anew}`, { schedule_in_minutes: 0.1 });
  held[1].release();
  await client.finalPost(anew);
  await (await handleOf(idOf(anew))).result();
  await keep('scheduled-anew-midway-post', idOf(anew));
}

/** A rescheduled post in doubt that is cancelled again while its workflow sleeps. */
async function recordCancelledAgain(stage: Stage, keep: Keep): Promise<void> {
  const { client, first, firstName, schedule, handleOf } = stage;
  first.fates.push({ kind: 'lost' });
  first.blind = new NetworkError('network_unavailable', 'Down.', { accepted: 'unknown' });
  const post = await schedule(0, [firstName]);
  const channelIs = (wanted: string): Promise<unknown> =>
    poll(
      async () => (await client.get(`/posts/${post}`)).body.post.channels[0].status,
      (status) => status === wanted,
    );
  await channelIs('retrying');
  await client.post(`/posts/${post}/cancel`);
  await client.patch(`/posts/${post}`, { schedule_in_minutes: 60 });
  const handle = await handleOf(idOf(post));
  await poll(
    async () => ((await handle.describe()).raw.pendingActivities ?? []).length,
    (pending) => pending === 0,
  );
  first.blind = undefined;
  await client.post(`/posts/${post}/cancel`);
  await handle.result();
  await keep('cancelled-again-post', idOf(post));
}

/** Changes in the database without a signal to the workflow. */
async function recordUnheard(stage: Stage, keep: Keep): Promise<void> {
  const { punctual, schedule, handleOf } = stage;
  const change = async (post: string, sql: string, value: unknown): Promise<void> => {
    await handleOf(idOf(post), 5);
    await punctual.orm.em
      .fork()
      .execute(`update posts set ${sql}, revision = 2, synced_revision = 2 where id = ?`, [
        value,
        post,
      ]);
    await (await handleOf(idOf(post))).result();
  };
  const moved = await schedule(0.1);
  await change(moved, 'scheduled_at = ?', new Date(Date.now() + 12_000));
  await keep('moved-unheard-post', idOf(moved));

  const drafted = await schedule(0.1);
  await change(drafted, 'scheduled_at = null, status = ?', 'draft');
  await keep('gone-post', idOf(drafted));
}

/** A post that is removed from both networks, and one that a network keeps after a retry. */
export async function recordRemovals(stage: Stage, keep: Keep): Promise<void> {
  const { client, first, schedule, handleOf } = stage;
  const unpublish = async (): Promise<string> => {
    const post = await schedule(0);
    await client.finalPost(post);
    await client.post(`/posts/${post}/unpublish`);
    return unpublishWorkflowId(post);
  };
  const removed = await unpublish();
  await endOf(await handleOf(removed));
  await keep('unpublished-post', removed);

  const fails = (code: 'network_unavailable' | 'permission_missing') =>
    new NetworkError(code, 'Not now.', { accepted: 'no' });
  first.keepsPosts = fails('network_unavailable');
  const kept = await handleOf(await unpublish());
  await poll(
    async () => (await kept.describe()).raw.pendingActivities ?? [],
    (pending) => pending.some(({ attempt }) => (attempt ?? 0) > 1),
  );
  first.keepsPosts = fails('permission_missing');
  await endOf(kept);
  await keep('kept-post', kept.workflowId);
  first.keepsPosts = undefined;
}

const idOf = (post: string): string => `post-${post}`;
