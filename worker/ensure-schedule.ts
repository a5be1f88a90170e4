import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import { assertOwner } from '../temporal/namespace-owner.ts';
import { underDeadline } from '../temporal/connect.ts';
import { postsQueue } from '../workflows/messages.ts';

const minuteMs = 60_000;

/** What Temporal is to start again and again, one at a time. */
export type Schedule = {
  readonly scheduleId: string;
  /** In milliseconds; `offsetMs` after each full one of these. */
  readonly everyMs: number;
  readonly offsetMs: number;
  readonly workflowType: string;
  readonly workflowId: string;
  readonly args: readonly unknown[];
  /** After so long it is over, in milliseconds, whatever holds it up. */
  readonly longestMs: number;
  readonly summary: string;
};

/** @param installation Of the database that the workflow works for. */
const optionsOf = (schedule: Schedule, installation: string) => ({
  spec: { intervals: [{ every: schedule.everyMs, offset: schedule.offsetMs }] },
  action: {
    type: 'startWorkflow' as const,
    workflowType: schedule.workflowType,
    workflowId: schedule.workflowId,
    taskQueue: postsQueue,
    args: [...schedule.args],
    workflowRunTimeout: schedule.longestMs,
    staticSummary: schedule.summary,
    memo: { installation },
  },
  // One at a time. What was missed while Temporal was away is made up for by one.
  policies: { overlap: 'SKIP' as const, catchupWindow: minuteMs },
});

/**
 * Creates a schedule, or updates that of another version. What an operator paused stays paused. It says which database the
 * namespace belongs to.
 *
 * @throws ServiceError when Temporal is away. @throws OtherDatabaseError
 */
export async function ensureSchedule(
  client: Client,
  schedule: Schedule,
  installation: string,
): Promise<void> {
  const { scheduleId } = schedule;
  const wanted = optionsOf(schedule, installation);
  const handle = client.schedule.getHandle(scheduleId);
  const within = <T>(call: () => Promise<T>): Promise<T> => underDeadline(client, call);
  try {
    const found = await within(() => handle.describe());
    const owner = found.action.memo?.['installation'];
    assertOwner(client, owner, installation);
    if (owner === undefined || !isAsWanted(found, schedule)) {
      await within(() => handle.update(({ state }) => ({ ...wanted, state })));
    }
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) {
      throw error;
    }

    await within(() => client.schedule.create({ scheduleId, ...wanted })).catch(
      unlessRunning, // Another worker was quicker.
    );
  }
}

function isAsWanted({ spec, action, policies }: ScheduleDescription, schedule: Schedule): boolean {
  const [interval, ...others] = spec.intervals ?? [];
  return (
    others.length === 0 &&
    interval?.every === schedule.everyMs &&
    interval.offset === schedule.offsetMs &&
    action.workflowType === schedule.workflowType &&
    action.taskQueue === postsQueue &&
    JSON.stringify(action.args ?? []) === JSON.stringify(schedule.args) &&
    policies.overlap === 'SKIP' &&
    policies.catchupWindow === minuteMs
  );
}

function unlessRunning(error: unknown): void {
  if (!(error instanceof ScheduleAlreadyRunning)) {
    throw error;
  }
}
