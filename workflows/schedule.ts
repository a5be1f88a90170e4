import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { waitingDetails, moment } from './details.ts';
import {
  cancel,
  readCancel,
  readReschedule,
  reschedule,
  type PublishPostInput,
} from './messages.ts';
import { moveDueAt } from './search-attributes.ts';

/** State from the signals so far. The highest revision wins, in any order of arrival. */
export type Schedule = {
  revision: number;
  dueAtMs: number;
  canceled: boolean;
  /** The post was cancelled, and a channel has to finish because a part may be live. */
  isUnfinished: boolean;
  /** Called when a signal changes the state. */
  onChange: () => void;
};

// Frozen: posts sleep in these two functions for months and replay them, so no command may be added before the first
// timer. test/histories/ holds sleeping posts to check it.

export function followMessages(input: PublishPostInput): Schedule {
  const schedule: Schedule = {
    revision: input.revision,
    dueAtMs: Date.parse(input.dueAt),
    canceled: false,
    isUnfinished: false,
    onChange: () => undefined,
  };
  const apply = (
    revision: number,
    change: Pick<Schedule, 'canceled'> & Partial<Schedule>,
  ): void => {
    if (revision > schedule.revision) {
      Object.assign(schedule, { revision, ...change });
      schedule.onChange();
    }
  };
  setHandler(
    reschedule,
    (given) => {
      const signal = readReschedule(given);
      if (signal) {
        apply(signal.revision, { dueAtMs: signal.dueAtMs, canceled: false, isUnfinished: false });
      }
    },
    { description: 'The post has a new time: {revision, dueAt}.' },
  );
  setHandler(
    cancel,
    (given) => {
      const signal = readCancel(given);
      if (signal) {
        apply(signal.revision, { canceled: true, isUnfinished: signal.isUnfinished });
      }
    },
    {
      description:
        'The post became a draft: {revision}, {unfinished} when a channel is to be finished.',
    },
  );
  return schedule;
}

/** Sleeps until the schedule's current time, or until the post is cancelled. */
export async function untilDue(input: PublishPostInput, schedule: Schedule): Promise<void> {
  while (!schedule.canceled && Date.now() < schedule.dueAtMs) {
    const { revision, dueAtMs } = schedule;
    setCurrentDetails(waitingDetails(input, revision, dueAtMs));
    moveDueAt(dueAtMs);
    await sleepUntilChange(schedule, dueAtMs - Date.now());
    if (workflowInfo().continueAsNewSuggested && !schedule.canceled) {
      const dueAt = new Date(schedule.dueAtMs).toISOString();
      const { workspaceId, postId } = input;
      await continueAsNew<(continued: PublishPostInput) => Promise<unknown>>({
        workspaceId,
        postId,
        revision: schedule.revision,
        dueAt,
      });
    }
  }
}

/** Replaces the SDK's `condition`, which needs twice as many promises, each with a stack trace at every post. */
async function sleepUntilChange(schedule: Schedule, ms: number): Promise<void> {
  const summary = `Waiting until ${moment(schedule.dueAtMs)}`;
  const outside = CancellationScope.current();
  const sleeping = new CancellationScope();
  schedule.onChange = () => sleeping.cancel();
  try {
    await sleeping.run(() => sleep(ms, { summary }));
  } catch (error) {
    if (!isCancellation(error) || outside.consideredCancelled) {
      throw error;
    }
  } finally {
    schedule.onChange = () => undefined;
  }
}
