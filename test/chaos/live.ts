import { setTimeout as sleep } from 'node:timers/promises';
import type { PostView } from '../../domain/post-view.ts';
import { cancel, create, move, retry, type Stage } from './change-post.ts';
import { unborn, type Lived } from './lived.ts';
import { showPost } from './parts/calls.ts';
import type { PlannedFault, PostPlan } from './plan/post-plan.ts';

/** Does with a post what the plan says its user does, until the post has come to its end. */
export async function live(stage: Stage, plan: PostPlan): Promise<Lived> {
  const lived = unborn(plan);
  stage.living.push(lived);
  const { marker } = plan;
  const cued = plan.faults.find(({ fault }) => fault in acts);
  if (cued) {
    stage.cues.on(marker, () => actOn(stage, lived, cued));
  }

  await until(stage.startMs + plan.createMs);
  await create(stage, lived);
  if (cued?.fault === 'cancelled as a late try begins') {
    stage.aim(lived.id, { id: cued.id, marker });
  }

  const asleep = plan.faults.find(({ fault }) => fault === 'terminated asleep');
  const terminated = asleep && terminateAsleep(stage, lived, asleep);
  for (const step of plan.steps) {
    await until(stage.startMs + step.atMs);
    await (step.kind === 'cancel' ? cancel(stage, lived) : move(stage, lived, step));
  }

  await terminated;
  lived.end = await untilEnded(stage, lived);
  if (plan.faults.some(({ fault }) => fault === 'refused') && lived.end?.status === 'failed') {
    await retry(stage, lived);
    lived.end = await untilEnded(stage, lived);
  }

  return lived;
}

const until = (atMs: number): Promise<void> => sleep(Math.max(0, atMs - Date.now()));

/** The post once nothing more will happen to it; null when it is gone, or that takes longer than the run lasts. */
export async function untilEnded(stage: Stage, lived: Lived): Promise<PostView | null> {
  lived.endedAtMs = null;
  while (Date.now() < stage.deadlineMs) {
    const acts = lived.acts.length;
    await Promise.all(lived.acts);
    const post = await showPost(stage.client, lived.id);
    if (post === null) {
      mustBeForgotten(lived);
      return null;
    }

    if (acts === lived.acts.length && hasEnded(post, lived)) {
      lived.endedAtMs = Date.now();
      return post;
    }

    await sleep(1000);
  }

  return null;
}

/** @throws Error for a post that no restore can have taken away. */
function mustBeForgotten(lived: Lived): void {
  if (lived.restores === 0) {
    throw new Error('The API does not know the post.');
  }

  lived.isGone = true;
}

const hasEnded = (post: PostView, lived: Lived): boolean =>
  post.status === 'published' || post.status === 'failed' || isAtRest(post, lived);

/**
 * A draft of which nothing is being sent. Where every channel has finished in spite of a cancel it ends all the same,
 * unless it was a restore that made them unconfirmed: that waits for its user.
 */
const isAtRest = ({ status, channels }: PostView, { restores }: Lived): boolean =>
  status === 'draft' &&
  channels.every((channel) => !busy.has(channel.status)) &&
  (restores > 0 || channels.some((channel) => channel.status === 'draft'));

const busy: ReadonlySet<string> = new Set(['scheduled', 'publishing', 'retrying']);

/** What is done to a post when the line or a worker says that now is the moment. @throws Error when it is too late. */
const acts: Readonly<Partial<Record<string, (stage: Stage, lived: Lived) => Promise<void>>>> = {
  'terminated in mid-send': async ({ terminate }, { id }) => {
    if (!(await terminate(id))) {
      throw new Error('There is no workflow to terminate.');
    }
  },
  '429 after a cancel': mustCancel,
  'killed in a late record': mustCancel,
  'cancelled as a late try begins': async (stage, lived) => {
    await mustCancel(stage, lived);
    const dueMs = Date.now() - stage.startMs + 4000;
    await move(stage, lived, { dueMs, rewrite: true });
  },
};

async function actOn(stage: Stage, lived: Lived, { fault }: PlannedFault): Promise<void> {
  while (lived.id === '') {
    await sleep(20); // Its answer is on the way.
  }

  const acting = acts[fault]?.(stage, lived) ?? Promise.resolve();
  lived.acts.push(acting.catch(() => undefined));
  await acting;
}

async function mustCancel(stage: Stage, lived: Lived): Promise<void> {
  const before = lived.cancels.length;
  await cancel(stage, lived);
  if (lived.cancels.length === before) {
    throw new Error('It was too late to cancel.');
  }
}

/** As soon as there is a workflow, and before the post is due. */
async function terminateAsleep(
  { terminate, journal, startMs }: Stage,
  { id, plan }: Lived,
  fault: PlannedFault,
): Promise<void> {
  await sleep(500);
  while (Date.now() < startMs + plan.dueMs - 300) {
    if (await terminate(id)) {
      journal.injected(fault.fault, fault.id);
      journal.note(plan.marker, 'its workflow is terminated while it sleeps');
      return;
    }

    await sleep(300);
  }
}
