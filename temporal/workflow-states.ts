import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { WorkflowState, WorkflowStates } from '../domain/workflow-state.ts';
import { deliveryWorkflowId, postWorkflowId } from '../workflows/messages.ts';
import { underDeadline } from './under-deadline.ts';

/** Asks Temporal about the newest run of a row's workflow. It costs no event of history. */
export const workflowStates = (client: Client): WorkflowStates => ({
  ofPost: (postId) => stateOf(client, postWorkflowId(postId)),
  ofDelivery: (deliveryId) => stateOf(client, deliveryWorkflowId(deliveryId)),
});

async function stateOf(client: Client, workflowId: string): Promise<WorkflowState> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    const described = await underDeadline(client, () => handle.describe());
    if (ended.has(described.status.name)) {
      return 'gone';
    }

    return isBusy(described) ? 'busy' : 'running';
  } catch (error) {
    return error instanceof WorkflowNotFoundError ? 'gone' : 'unknown';
  }
}

/** All else goes on: paused by an operator, or a status that only later versions of Temporal have. */
const ended: ReadonlySet<string> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
]);

/** Temporal's own number for an activity that no worker is at: it waits for its time, or for a worker. */
const scheduled = 1;

/** Whether an activity is at work or paused, or waits for a time that is still to come. */
const isBusy = ({ raw }: WorkflowExecutionDescription): boolean =>
  (raw.pendingActivities ?? []).some(
    ({ state, scheduledTime }) =>
      state !== scheduled || Number(scheduledTime?.seconds ?? 0) * 1000 > Date.now(),
  );
