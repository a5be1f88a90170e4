import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  patched,
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
  /**
   * A signal with no higher revision differed from this state. It was late, or the database was restored or failed over
   * and continues from a lower revision. The workflow then claims the post, whatever its time.
   */
  doubted: boolean;
  /** Called when a signal changes the state. */
  onChange: () => void;
  /** Called when `doubted` is set. */
  onDoubt: () => void;
};

// Frozen: posts sleep in these two functions for months and replay them, so no command may be added before the first
// timer. test/histories/ holds sleeping posts to check it.

export function followMessages(input: PublishPostInput): Schedule {
  const schedule: Schedule = {
    revision: input.revision,
    dueAtMs: Date.parse(input.dueAt),
    canceled: false,
    isUnfinished: false,
    doubted: false,
    onChange: () => undefined,
    onDoubt: () => undefined,
  };
  const apply = (
    revision: number,
    change: Pick<Schedule, 'canceled'> & Partial<Schedule>,
  ): void => {
    if (revision > schedule.revision) {
      Object.assign(schedule, { revision, ...change });
      schedule.onChange();
    } else if (isOther(schedule, revision, change) && patched('doubt')) {
      schedule.doubted = true;
      schedule.onDoubt();
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

/** Whether the signal differs from the schedule. */
const isOther = (schedule: Schedule, revision: number, change: Partial<Schedule>): boolean =>
  Object.entries({ revision, ...change }).some(
    ([key, value]) => schedule[key as keyof Schedule] !== value,
  );

/** Sleeps until the schedule's current time, or until the post is cancelled or doubted. */
export async function untilDue(input: PublishPostInput, schedule: Schedule): Promise<void> {
  while (!schedule.canceled && !schedule.doubted && Date.now() < schedule.dueAtMs) {
    const { revision, dueAtMs } = schedule;
    setCurrentDetails(waitingDetails(input, revision, dueAtMs));
    moveDueAt(dueAtMs);
    await sleepUntilChange(schedule, dueAtMs - Date.now());
    if (workflowInfo().continueAsNewSuggested && !schedule.canceled && !schedule.doubted) {
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
  const wake = (): void => sleeping.cancel();
  Object.assign(schedule, { onChange: wake, onDoubt: wake });
  try {
    await sleeping.run(() => sleep(ms, { summary }));
  } catch (error) {
    if (!isCancellation(error) || outside.consideredCancelled) {
      throw error;
    }
  } finally {
    schedule.onChange = () => undefined;
    schedule.onDoubt = () => undefined;
  }
}
