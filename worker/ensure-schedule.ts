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

/** A workflow that Temporal starts at intervals, one at a time. */
export type ScheduleDefinition = {
  readonly scheduleId: string;
  /** Interval in milliseconds. Runs start `offsetMs` after each multiple of it. */
  readonly everyMs: number;
  readonly offsetMs: number;
  readonly workflowType: string;
  readonly workflowId: string;
  readonly args: readonly unknown[];
  /** Run timeout, in milliseconds. */
  readonly longestMs: number;
  readonly summary: string;
};

/** @param installation Id of the database. */
const optionsOf = (schedule: ScheduleDefinition, installation: string) => ({
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
  // One run at a time. One run makes up for all that were missed while Temporal was unavailable.
  policies: { overlap: 'SKIP' as const, catchupWindow: minuteMs },
});

/**
 * Creates a schedule, or updates that of another version. A paused schedule stays paused. Its memo holds the database
 * that the namespace belongs to.
 *
 * @throws ServiceError if Temporal is unavailable. @throws OtherDatabaseError
 */
export async function ensureSchedule(
  client: Client,
  schedule: ScheduleDefinition,
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
      unlessRunning, // Another worker created it first.
    );
  }
}

function isAsWanted(
  { spec, action, policies }: ScheduleDescription,
  schedule: ScheduleDefinition,
): boolean {
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
