import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow';
import { deliverWebhook } from './deliver-webhook.ts';
import { deliveryWorkflowId, webhooksQueue } from './messages.ts';
import { ofWorkspace, workspaceIdKey } from './search-attributes.ts';

/**
 * Starts one child per delivery and waits until each has begun: an abandoned child that has not begun when
 * its parent ends is lost. One that exists already is left alone, so a reset of the post repeats nothing.
 *
 * @param postId The post that they are about, or that came upon what they are about.
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
  // A server that took them of the post knows them. Another would not start the child, again and again.
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
