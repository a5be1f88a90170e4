import type { WorkflowHandle } from '@temporalio/client';
import { requiredTsToMs } from '@temporalio/common/lib/time.js';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { poll } from './poll.ts';
import { untilBegun } from './until-begun.ts';

// A workflow's history has its timers to the millisecond, however busy the machine is. Tests therefore compare timers
// with a post's time, and not the moments at which something happened.

/** When the timers of a workflow's latest run fire, in milliseconds since 1970 and in the order of their creation. */
export async function timerEnds(handle: WorkflowHandle): Promise<number[]> {
  const events = (await handle.fetchHistory()).events ?? [];
  return events.flatMap(({ timerStartedEventAttributes: timer }, index) => {
    if (!timer) {
      return [];
    }

    // The workflow's clock is the start of the task that set the timer.
    const isTask = (event: (typeof events)[number]) => event.workflowTaskStartedEventAttributes;
    const task = events.slice(0, index).findLast(isTask);
    const askedMs = requiredTsToMs(task?.eventTime, 'eventTime');
    return [askedMs + requiredTsToMs(timer.startToFireTimeout, 'startToFireTimeout')];
  });
}

/** The number of a workflow's local activities; a post that is claimed at its due time has two. */
export async function ownStepsOf(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).filter((event) => event.markerRecordedEventAttributes).length;
}

/** The last failure message of each activity, null if it succeeded at once, in the order of their ends. */
export async function lastFailures(handle: WorkflowHandle): Promise<(string | null)[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
    started ? [started.lastFailure?.message ?? null] : [],
  );
}

/** Waits until a workflow exists and has set its first timer. @returns its history so far. */
export async function untilAsleep(handle: WorkflowHandle): Promise<History> {
  await untilBegun(handle);
  return poll(
    () => handle.fetchHistory(),
    ({ events }) => (events ?? []).some((event) => event.timerStartedEventAttributes),
  );
}
