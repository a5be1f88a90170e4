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
import { asleep, moment } from './details.ts';
import {
  cancel,
  readCancel,
  readReschedule,
  reschedule,
  type PublishPostInput,
} from './messages.ts';

/** What the signals have said so far. The highest revision wins, in whatever order they arrive. */
export type Schedule = {
  revision: number;
  dueAtMs: number;
  canceled: boolean;
  /** It was cancelled, and a channel must be finished: the network may have the post. */
  isUnfinished: boolean;
  /**
   * A signal of no higher revision said something else. It was late, or the database was restored from a backup or
   * failed over and goes on from a lower revision: the workflow claims the post, whatever the time.
   */
  doubted: boolean;
  /** Called when a signal says something new. */
  onChange: () => void;
  /** Called when `doubted` is set. */
  onDoubt: () => void;
};

// Frozen: posts sleep in these two functions for months and replay them, so nothing is ever added before the
// first timer. test/histories/ holds sleeping posts that guard it.

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

/** Whether it differs from what the schedule has. */
const isOther = (schedule: Schedule, revision: number, change: Partial<Schedule>): boolean =>
  Object.entries({ revision, ...change }).some(
    ([key, value]) => schedule[key as keyof Schedule] !== value,
  );

/** Sleeps until the schedule's time, whatever it becomes meanwhile, or until the post is cancelled or doubted. */
export async function untilDue(input: PublishPostInput, schedule: Schedule): Promise<void> {
  while (!schedule.canceled && !schedule.doubted && Date.now() < schedule.dueAtMs) {
    const { revision, dueAtMs } = schedule;
    setCurrentDetails(asleep(input, revision, dueAtMs));
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

/** The SDK's `condition` does the same with twice as many promises, and each costs a stack trace at every post. */
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
