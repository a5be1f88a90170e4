import type { WorkflowHandle } from '@temporalio/client';

export type Cost = {
  readonly events: number;
  /** What Temporal Cloud bills. */
  readonly actions: number;
  /** Of the stored history, as the server counts them. */
  readonly bytes: number;
};

/** The parts of a history's event that cost something. */
type Event = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

/** What a workflow has cost up to now, counted from what the server has stored of it. */
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
 * By the rules of Temporal Cloud (its documentation, "Actions"). A start is one, but that of a child belongs to its
 * parent, where it makes two; each attempt of an activity is one; so are all local activities of one workflow task
 * together. Heartbeats leave no event: ours begin after five seconds, and what is counted here takes less.
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
