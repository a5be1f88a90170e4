import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelResult, PostView } from '../../domain/post-view.ts';
import { cancel, create, move, remove, retry, type Stage } from './change-post.ts';
import { mendedIn, type Owner } from './owner.ts';
import { newHistory, type PostHistory } from './post-history.ts';
import { showPost } from './parts/calls.ts';
import type { PlannedFault, PostPlan, Step } from './plan/post-plan.ts';

/** Makes the calls that the plan has for a post's user, until the post has ended. */
export async function simulateUser(stage: Stage, plan: PostPlan): Promise<PostHistory> {
  const history = newHistory(plan);
  stage.histories.push(history);
  const { marker } = plan;
  const cued = plan.faults.find(({ fault }) => fault in acts);
  if (cued) {
    stage.cues.on(marker, () => actOn(stage, history, cued));
  }

  await until(stage.startMs + plan.createMs);
  await create(stage, history);
  if (cued?.fault === 'cancelled as a late attempt begins') {
    stage.aim(history.id, { id: cued.id, marker });
  }

  const asleep = plan.faults.find(({ fault }) => fault === 'terminated asleep');
  const terminated = asleep && terminateAsleep(stage, history, asleep);
  for (const step of plan.steps) {
    await until(stage.startMs + step.atMs);
    await take(stage, history, step);
  }

  await terminated;
  if (history.isGone) {
    return history; // Deleted.
  }

  await untilMended(stage, history);
  const isPlanned = plan.faults.some(({ fault }) => fault === 'refused');
  if (isPlanned && history.end?.status === 'failed') {
    await retry(stage, history);
    await untilMended(stage, history);
  }

  return history;
}

const take = (stage: Stage, history: PostHistory, step: Step): Promise<void> =>
  step.kind === 'move'
    ? move(stage, history, step)
    : { cancel, delete: remove }[step.kind](stage, history);

const until = (atMs: number): Promise<void> => sleep(Math.max(0, atMs - Date.now()));

/** Waits until a post has ended. @returns null when it is gone, or when the run ends first. */
async function untilEnded(stage: Stage, history: PostHistory): Promise<PostView | null> {
  history.endedAtMs = null;
  while (Date.now() < stage.deadlineMs) {
    const acts = history.acts.length;
    await Promise.all(history.acts);
    const post = await showPost(stage.client, history.id);
    if (post === null) {
      assertForgotten(history);
      return null;
    }

    if (acts === history.acts.length && (hasEnded(post, history) || isStuck(post, stage.owner))) {
      history.endedAtMs = isStuck(post, stage.owner) ? null : Date.now(); // A restore may end it.
      return post;
    }

    await sleep(1000);
  }

  return null;
}

/** Waits until a post has ended, and retries it for each lost access once its owner has reconnected the account. */
export async function untilMended(stage: Stage, history: PostHistory): Promise<void> {
  history.end = await untilEnded(stage, history);
  for (let [id] = mendedIn(history, stage.owner); id; [id] = mendedIn(history, stage.owner)) {
    if (Date.now() > stage.deadlineMs) {
      return;
    }

    await stage.owner.retryLost(id);
    history.end = await untilEnded(stage, history);
  }
}

/** @throws Error for a post that no restore can have removed. */
function assertForgotten(history: PostHistory): void {
  if (history.restores === 0) {
    throw new Error('The API does not have the post.');
  }

  history.isGone = true;
}

const hasEnded = (post: PostView, history: PostHistory): boolean =>
  post.status === 'published' || post.status === 'failed' || isAtRest(post, history);

/**
 * A draft without a channel that is being sent. A draft whose channels have all ended becomes final, unless a restore
 * made them unconfirmed, or a cancel stopped a thread, which waits for the user.
 */
const isAtRest = ({ status, channels }: PostView, { restores }: PostHistory): boolean =>
  status === 'draft' &&
  channels.every((channel) => !busy.has(channel.status)) &&
  (restores > 0 ||
    channels.some(
      ({ status: channel, error_code: code }) => channel === 'draft' || code === 'cancelled',
    ));

/** The network cannot say whether it has the post, as nobody reconnects these accounts. The product asks for a day. */
const isStuck = ({ channels }: PostView, { doomed }: Owner): boolean => {
  const open = channels.filter(({ status }) => busy.has(status));
  const isLost = ({ status, error_code: code, channel_id: id }: ChannelResult) =>
    status === 'retrying' && code === 'access_lost' && doomed.has(id);
  return open.length > 0 && open.every(isLost);
};

const busy: ReadonlySet<string> = new Set(['scheduled', 'publishing', 'retrying']);

/** The user's actions at the cues of a line or a worker. @throws Error when it is too late. */
const acts: Readonly<
  Partial<Record<string, (stage: Stage, history: PostHistory) => Promise<void>>>
> = {
  'terminated in mid-send': async ({ terminate }, { id }) => {
    if (!(await terminate(id))) {
      throw new Error('The workflow is not running.');
    }
  },
  '429 after a cancel': cancelOrThrow,
  'killed in a late record': cancelOrThrow,
  'cancelled as a late attempt begins': async (stage, history) => {
    await cancelOrThrow(stage, history);
    const dueMs = Date.now() - stage.startMs + 4000;
    await move(stage, history, { dueMs, rewrite: true });
  },
};

async function actOn(stage: Stage, history: PostHistory, { fault }: PlannedFault): Promise<void> {
  while (history.id === '') {
    await sleep(20); // The response with its id has not arrived yet.
  }

  const acting = acts[fault]?.(stage, history) ?? Promise.resolve();
  history.acts.push(acting.catch(() => undefined));
  await acting;
}

async function cancelOrThrow(stage: Stage, history: PostHistory): Promise<void> {
  const before = history.cancels.length;
  await cancel(stage, history);
  if (history.cancels.length === before) {
    throw new Error('Too late to cancel.');
  }
}

/** Terminates the workflow once it exists, and before the post is due. */
async function terminateAsleep(
  { terminate, journal, startMs }: Stage,
  { id, plan }: PostHistory,
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
