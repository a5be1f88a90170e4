import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { deliverWebhook } from './deliver-webhook.ts';
import { deliveryWorkflowId, postsQueue } from './messages.ts';

/**
 * Starts one child per delivery and waits until each has begun, because an abandoned child that has not begun when its
 * parent ends is lost. An existing one is left alone, so a reset of the post repeats nothing.
 */
export async function startDeliveries(
  workspaceId: string,
  deliveryIds: readonly string[],
): Promise<void> {
  await Promise.all(deliveryIds.map((deliveryId) => startDelivery(workspaceId, deliveryId)));
}

async function startDelivery(workspaceId: string, deliveryId: string): Promise<void> {
  try {
    await startChild(deliverWebhook, {
      workflowId: deliveryWorkflowId(deliveryId),
      taskQueue: postsQueue,
      args: [{ workspaceId, deliveryId }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `Webhook delivery ${deliveryId}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) {
      throw error;
    }
  }
}
