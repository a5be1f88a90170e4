import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { cancelled, signalled, type PostSchedule } from '../domain/post-schedule.ts';
import { waitingDetails, moment } from './details.ts';
import {
  cancel,
  readCancel,
  readReschedule,
  reschedule,
  type PublishPostInput,
} from './messages.ts';
import { moveDueAt } from './search-attributes.ts';

/** A post as its workflow knows it from signals and claims. */
export type Followed = {
  schedule: PostSchedule;
  /** Called when a signal changes the schedule. */
  onChange: () => void;
};

// Frozen: posts sleep in these two functions for months and replay them, so no command may be added before the first
// timer. test/histories/ holds sleeping posts to check it.

export function followMessages({ revision, dueAt }: PublishPostInput): Followed {
  const post: Followed = {
    schedule: { revision, dueAtMs: Date.parse(dueAt) },
    onChange: () => undefined,
  };
  const follow = (schedule: PostSchedule): void => {
    const isChanged = schedule !== post.schedule;
    post.schedule = schedule;
    if (isChanged) {
      post.onChange();
    }
  };
  setHandler(
    reschedule,
    (given) => {
      const signal = readReschedule(given);
      follow(signal ? signalled(post.schedule, signal) : post.schedule);
    },
    { description: 'The post has a new time: {revision, dueAt}.' },
  );
  setHandler(
    cancel,
    (given) => {
      const signal = readCancel(given);
      follow(signal ? cancelled(post.schedule, signal.revision) : post.schedule);
    },
    { description: 'The post became a draft: {revision}.' },
  );
  return post;
}

export async function untilDue(input: PublishPostInput, post: Followed): Promise<void> {
  while (Date.now() < post.schedule.dueAtMs) {
    const { revision, dueAtMs } = post.schedule;
    setCurrentDetails(waitingDetails(input, revision, dueAtMs));
    moveDueAt(dueAtMs);
    await sleepUntilChange(post, dueAtMs - Date.now());
    if (workflowInfo().continueAsNewSuggested && Date.now() < post.schedule.dueAtMs) {
      const { workspaceId, postId } = input;
      await continueAsNew<(continued: PublishPostInput) => Promise<unknown>>({
        workspaceId,
        postId,
        revision: post.schedule.revision,
        dueAt: new Date(post.schedule.dueAtMs).toISOString(),
      });
    }
  }
}

/** Replaces the SDK's `condition`, which needs twice as many promises, each with a stack trace at every post. */
async function sleepUntilChange(post: Followed, ms: number): Promise<void> {
  const summary = `Waiting until ${moment(post.schedule.dueAtMs)}`;
  const outside = CancellationScope.current();
  const sleeping = new CancellationScope();
  post.onChange = () => sleeping.cancel();
  try {
    await sleeping.run(() => sleep(ms, { summary }));
  } catch (error) {
    if (!isCancellation(error) || outside.consideredCancelled) {
      throw error;
    }
  } finally {
    post.onChange = () => undefined;
  }
}
