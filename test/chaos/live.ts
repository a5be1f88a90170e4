import { setTimeout as sleep } from 'node:timers/promises';
import type { PostView } from '../../domain/post-view.ts';
import { cancel, create, move, retry, type Stage } from './change-post.ts';
import { unborn, type Lived } from './lived.ts';
import { showPost } from './parts/calls.ts';
import type { PostPlan } from './plan/post-plan.ts';

/** Does with a post what the plan says its user does, until the post has come to its end. */
export async function live(stage: Stage, plan: PostPlan): Promise<Lived> {
  const lived = unborn(plan);
  await until(stage.startMs + plan.createMs);
  await create(stage, lived);
  for (const step of plan.steps) {
    await until(stage.startMs + step.atMs);
    await (step.kind === 'cancel' ? cancel(stage, lived) : move(stage, lived, step));
  }

  lived.end = await untilEnded(stage, lived);
  if (plan.faults.some(({ fault }) => fault === 'refused') && lived.end?.status === 'failed') {
    await retry(stage, lived);
    lived.end = await untilEnded(stage, lived);
  }

  return lived;
}

const until = (atMs: number): Promise<void> => sleep(Math.max(0, atMs - Date.now()));

/** The post once nothing more will happen to it; null when that takes longer than the run lasts. */
async function untilEnded({ client, deadlineMs }: Stage, lived: Lived): Promise<PostView | null> {
  while (Date.now() < deadlineMs) {
    const post: PostView = await showPost(client, lived.id);
    if (post.status === 'published' || post.status === 'failed' || isAtRest(post)) {
      return post;
    }

    await sleep(1000);
  }

  return null;
}

/** A draft of which nothing is being sent. Where every channel has finished in spite of a cancel it ends all the same. */
const isAtRest = ({ status, channels }: PostView): boolean =>
  status === 'draft' &&
  channels.every((channel) => !busy.has(channel.status)) &&
  channels.some((channel) => channel.status === 'draft');

const busy: ReadonlySet<string> = new Set(['scheduled', 'publishing', 'retrying']);
