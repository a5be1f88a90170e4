import type { WorkflowHandle } from '@temporalio/client';

export type Cost = {
  readonly events: number;
  /** Billable actions of Temporal Cloud. */
  readonly actions: number;
  /** Size of the stored history, from the server. */
  readonly bytes: number;
};

/** One event of a history. */
type Event = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

/** The cost of a workflow so far, from its stored history. */
export async function costOf(handle: WorkflowHandle): Promise<Cost> {
  const { events } = await handle.fetchHistory();
  const { raw } = await handle.describe();
  const { historySizeBytes } = raw.workflowExecutionInfo ?? {};
  return {
    events: events?.length ?? 0,
    actions: billableActions(events ?? []),
    bytes: Number(historySizeBytes ?? 0),
  };
}

/**
 * Measures up to five times: on a stalled machine Temporal repeats signals and tasks that were not acknowledged in
 * time, which adds events.
 *
 * @returns the first cost within the limit, or the last cost.
 */
export async function measureWithin(
  measure: () => Promise<Cost>,
  limit: Partial<Cost>,
): Promise<Cost> {
  let cost = await measure();
  for (let attempt = 1; attempt < 5 && !isWithin(cost, limit); attempt += 1) {
    cost = await measure();
  }

  return cost;
}

const isWithin = (cost: Cost, limit: Partial<Cost>): boolean =>
  Object.entries(limit).every(([unit, most]) => cost[unit as keyof Cost] <= most);

/**
 * Counts by the rules of Temporal Cloud (its documentation, "Actions"). A start is one action; a child's start counts
 * as two of its parent. Each activity attempt is one. All local activities of a workflow task are one together.
 * Heartbeats leave no event, but ours begin after five seconds and these workflows' activities are shorter.
 */
export function billableActions(events: readonly Event[]): number {
  const localTasks = new Set<string>();
  let actions = 0;
  for (const event of events) {
    actions += eventActions(event);
    const marker = event.markerRecordedEventAttributes;
    if (marker?.markerName === 'core_local_activity') {
      localTasks.add(String(marker.workflowTaskCompletedEventId));
    } else if (marker) {
      actions += 1;
    }
  }

  return actions + localTasks.size;
}

function eventActions(event: Event): number {
  const { workflowExecutionStartedEventAttributes: started } = event;
  if (started) {
    return started.parentWorkflowExecution || started.continuedExecutionRunId ? 0 : 1;
  }

  if (event.startChildWorkflowExecutionInitiatedEventAttributes) {
    return 2;
  }

  const isOne =
    event.timerStartedEventAttributes ||
    event.workflowExecutionSignaledEventAttributes ||
    event.upsertWorkflowSearchAttributesEventAttributes ||
    event.workflowExecutionContinuedAsNewEventAttributes;
  return isOne ? 1 : (event.activityTaskStartedEventAttributes?.attempt ?? 0);
}
