import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

/** How a workflow ended: its result, or the type of its deliberate failure. */
export async function endOf(handle: WorkflowHandle): Promise<unknown> {
  try {
    return await handle.result();
  } catch (error) {
    if (error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure) {
      return error.cause.type;
    }

    throw error;
  }
}
