import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow';
import { deliverWebhook } from './deliver-webhook.ts';
import { deliveryWorkflowId, webhooksQueue } from './messages.ts';
import { ofWorkspace, workspaceIdKey } from './search-attributes.ts';

/**
 * Starts one child workflow per delivery and waits until each has begun, because an abandoned child that has not begun
 * is lost when its parent ends. A child that exists is left alone, so a reset of the post's workflow repeats nothing.
 *
 * @param postId The post that the event is about, or whose publishing caused it.
 */
export async function startDeliveries(
  workspaceId: string,
  deliveryIds: readonly string[],
  postId: string,
): Promise<void> {
  await Promise.all(
    deliveryIds.map((deliveryId) => startDelivery(workspaceId, deliveryId, postId)),
  );
}

async function startDelivery(
  workspaceId: string,
  deliveryId: string,
  postId: string,
): Promise<void> {
  // A server that lacks the attributes would refuse the child again and again. One that accepted the post's has them.
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  try {
    await startChild(deliverWebhook, {
      workflowId: deliveryWorkflowId(deliveryId),
      taskQueue: webhooksQueue,
      args: [{ workspaceId, deliveryId }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `Webhook delivery ${deliveryId}`,
      staticDetails: `Workspace \`${workspaceId}\`, post \`${postId}\`.`,
      ...(isSearchable && { typedSearchAttributes: ofWorkspace(workspaceId) }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) {
      throw error;
    }
  }
}
