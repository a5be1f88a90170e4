import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { WorkflowState, WorkflowStates } from '../domain/statuses.ts';
import {
  deliveryWorkflowId,
  postWorkflowId,
  postsQueue,
  unpublishWorkflowId,
} from '../workflows/messages.ts';
import { underDeadline, type Temporal } from './connect.ts';
import { endedStatuses, readLatestRun } from './latest-run.ts';

/** Requests the state of the newest run of a row's workflow. Adds no event to its history. */
export const workflowStates = (client: Client): WorkflowStates => ({
  ofPost: (postId) => stateOf(client, postWorkflowId(postId)),
  ofDelivery: (deliveryId) => stateOf(client, deliveryWorkflowId(deliveryId)),
  ofRemoval: (postId) => stateOf(client, unpublishWorkflowId(postId)),
  knownOfPost: (postId) =>
    underDeadline(client, () => readLatestRun(client, postId)).catch(() => null),
});

async function stateOf(client: Client, workflowId: string): Promise<WorkflowState> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    const described = await underDeadline(client, () => handle.describe());
    if (endedStatuses.has(described.status.name)) {
      return 'gone';
    }

    const { pendingWorkflowTask, pendingActivities } = described.raw;
    return pendingWorkflowTask || pendingActivities?.length ? 'busy' : 'asleep';
  } catch (error) {
    return error instanceof WorkflowNotFoundError ? 'gone' : 'unknown';
  }
}

/**
 * Returns the last poll of each worker for workflow tasks, in milliseconds since 1970; null if Temporal does not
 * respond within `deadlineMs`. Temporal lists a worker for minutes after it has stopped.
 */
export async function lastPolls(
  { client, connection, namespace }: Temporal,
  deadlineMs: number,
): Promise<number[] | null> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + deadlineMs, () =>
      connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: postsQueue },
        taskQueueType: 1, // TASK_QUEUE_TYPE_WORKFLOW
      }),
    );
    return (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000);
  } catch {
    return null;
  }
}
