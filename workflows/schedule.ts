import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { asleep } from './details.ts';
import { cancel, reschedule, type PublishPostInput } from './messages.ts';
import type { publishPost } from './publish-post.ts';

/** What the messages have said so far. The highest revision wins, in whatever order they arrive. */
export type Schedule = {
  revision: number;
  dueAtMs: number;
  canceled: boolean;
  /** Called when a message says something new. */
  onNews: () => void;
};

// Frozen: posts sleep in these two functions for months and replay them, so nothing is ever added before the
// first timer. test/histories/ holds sleeping posts that guard it.

export function followMessages(input: PublishPostInput): Schedule {
  const schedule: Schedule = {
    revision: input.revision,
    dueAtMs: Date.parse(input.dueAt),
    canceled: false,
    onNews: () => undefined,
  };
  setHandler(
    reschedule,
    ({ revision, dueAt }) => {
      if (revision > schedule.revision) {
        Object.assign(schedule, { revision, dueAtMs: Date.parse(dueAt), canceled: false });
        schedule.onNews();
      }
    },
    { description: 'The post has a new time: {revision, dueAt}.' },
  );
  setHandler(
    cancel,
    ({ revision }) => {
      if (revision > schedule.revision) {
        Object.assign(schedule, { revision, canceled: true });
        schedule.onNews();
      }
    },
    { description: 'The post became a draft: {revision}.' },
  );
  return schedule;
}

/** Sleeps until the schedule's time, whatever it becomes meanwhile, or until a cancel. */
export async function untilDue(input: PublishPostInput, schedule: Schedule): Promise<void> {
  while (!schedule.canceled && Date.now() < schedule.dueAtMs) {
    const { revision, dueAtMs } = schedule;
    setCurrentDetails(asleep(input, revision, dueAtMs));
    await sleepUntilNews(schedule, dueAtMs - Date.now());
    if (workflowInfo().continueAsNewSuggested && !schedule.canceled) {
      const dueAt = new Date(schedule.dueAtMs).toISOString();
      const { workspaceId, postId } = input;
      await continueAsNew<typeof publishPost>({
        workspaceId,
        postId,
        revision: schedule.revision,
        dueAt,
      });
    }
  }
}

/** The SDK's `condition` does the same with twice as many promises, and each costs a stack trace at every post. */
async function sleepUntilNews(schedule: Schedule, ms: number): Promise<void> {
  const outside = CancellationScope.current();
  const sleeping = new CancellationScope();
  schedule.onNews = () => sleeping.cancel();
  try {
    await sleeping.run(() => sleep(ms, { summary: 'until publish time' }));
  } catch (error) {
    if (!isCancellation(error) || outside.consideredCancelled) {
      throw error;
    }
  } finally {
    schedule.onNews = () => undefined;
  }
}
