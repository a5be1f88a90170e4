import { metricsScheduleId, metricsWorkflowId } from '../workflows/messages.ts';
import type { ScheduleDefinition } from './ensure-schedule.ts';

const minuteMs = 60_000;

/** Schedule that refreshes metrics every five minutes. @param networks Networks that the workers serve. */
export const metricsSchedule = (networks: readonly string[]): ScheduleDefinition => ({
  scheduleId: metricsScheduleId,
  everyMs: 5 * minuteMs,
  // Most posts are due at full minutes, so keep clear of them.
  offsetMs: 80_000,
  workflowType: 'refreshMetrics',
  workflowId: metricsWorkflowId,
  args: [{ networks: networks.toSorted() }],
  longestMs: 15 * minuteMs,
  summary: 'Reads metrics of posts that are due',
});
