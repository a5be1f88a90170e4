import { metricsScheduleId, metricsWorkflowId } from '../workflows/messages.ts';
import type { Schedule } from './ensure-schedule.ts';

const minuteMs = 60_000;

/** The schedule by which Temporal starts a refresh of metrics every five minutes. @param networks That workers work for. */
export const metricsSchedule = (networks: readonly string[]): Schedule => ({
  scheduleId: metricsScheduleId,
  everyMs: 5 * minuteMs,
  // Posts are due at full minutes, and go first.
  offsetMs: 80_000,
  workflowType: 'refreshMetrics',
  workflowId: metricsWorkflowId,
  args: [{ networks: networks.toSorted() }],
  longestMs: 15 * minuteMs,
  summary: 'Reads metrics of posts that are due',
});
