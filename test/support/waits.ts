import type { WorkflowHandle } from '@temporalio/client';
import { requiredTsToMs } from '@temporalio/common/lib/time.js';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { poll } from './poll.ts';
import { untilBegun } from './until-begun.ts';

// What a workflow asked to wait for stands in its history to the millisecond, however late anybody was on a machine that
// is busy: so that is what tests hold against the time of a post, and not when something happened.

/** When the timers of a workflow's latest run go off, in milliseconds since 1970 and in the order in which it set them. */
export async function timerEnds(handle: WorkflowHandle): Promise<number[]> {
  const events = (await handle.fetchHistory()).events ?? [];
  return events.flatMap(({ timerStartedEventAttributes: timer }, index) => {
    if (!timer) {
      return [];
    }

    // The workflow's clock stood at the begin of the task in which it asked.
    const isTask = (event: (typeof events)[number]) => event.workflowTaskStartedEventAttributes;
    const task = events.slice(0, index).findLast(isTask);
    const askedMs = requiredTsToMs(task?.eventTime, 'eventTime');
    return [askedMs + requiredTsToMs(timer.startToFireTimeout, 'startToFireTimeout')];
  });
}

/** How often a workflow asked the database something by itself: a post that is claimed at its time does so twice. */
export async function ownStepsOf(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).filter((event) => event.markerRecordedEventAttributes).length;
}

/** What the last failure of each activity said, null where it succeeded at once; in the order of their ends. */
export async function lastFailures(handle: WorkflowHandle): Promise<(string | null)[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
    started ? [started.lastFailure?.message ?? null] : [],
  );
}

/** Waits until a workflow exists and has set its first timer. @returns its history by then. */
export async function untilAsleep(handle: WorkflowHandle): Promise<History> {
  await untilBegun(handle);
  return poll(
    () => handle.fetchHistory(),
    ({ events }) => (events ?? []).some((event) => event.timerStartedEventAttributes),
  );
}
