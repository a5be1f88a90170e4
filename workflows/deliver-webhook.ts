import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { deliveryFailure } from './details.ts';
import {
  deliveryWorkflowId,
  readReplay,
  replay,
  webhooksQueue,
  type DeliverWebhookInput,
} from './messages.ts';
import {
  errorCodesKey,
  ofWorkspace,
  upsertIfSearchable,
  workspaceIdKey,
} from './search-attributes.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'Send the event to the endpoint',
  // A request may take 10 s. The rest covers a database that stalls while the result is stored.
  startToCloseTimeout: '90 seconds',
  // A request in flight finishes; a wait for the next attempt ends at once.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  // Detects a killed worker. The first heartbeat comes after 5 s, so a usual attempt records none.
  heartbeatTimeout: '20 seconds',
  // Each failure carries the wait until the next attempt (nextRetryDelay), and the database counts six attempts per
  // round. These intervals apply to failures without a delay: a crash, an unavailable database, another SECRET_KEY.
  // Temporal also counts polls for a free slot as attempts, so a delivery with many polls waits the longest interval.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '2 minutes' },
});

type Outcome = 'delivered' | 'failed' | 'gone';

/**
 * Delivers one event to one endpoint: one activity with six attempts, which costs 11 history events. A replay comes by
 * `signalWithStart`, so it also reaches a workflow that is about to end. It ends the wait for an attempt, and the
 * activity reads the row again. After a failover of the database, its round may have been signalled before.
 */
export async function deliverWebhook(input: DeliverWebhookInput): Promise<Outcome> {
  const { workspaceId, deliveryId, round = 1 } = input;
  const startLength = workflowInfo().historyLength;
  let latest = round;
  let attempts = new CancellationScope();
  setHandler(
    replay,
    (given) => {
      const signalled = readReplay(given);
      // `signalWithStart` repeats the round of the input.
      const isStart = signalled === latest && workflowInfo().historyLength === startLength;
      if (signalled !== null && !isStart) {
        latest = signalled;
        attempts.cancel();
      }
    },
    { description: 'Deliver once more: {round}.' },
  );
  for (;;) {
    const current = latest;
    attempts = new CancellationScope();
    setCurrentDetails(
      `Being delivered (round ${current}). The pending activity shows the attempt, why the last one failed, and when the next one is.\n\nWorkspace \`${workspaceId}\`.`,
    );
    const status = await endOf(attempts, () => attemptDelivery({ workspaceId, deliveryId }));
    if (status !== null) {
      setCurrentDetails(
        `The delivery is **${status}** (round ${current}).\n\nWorkspace \`${workspaceId}\`.`,
      );
    }

    if (status !== null && latest === current && !attempts.consideredCancelled) {
      upsertIfSearchable(
        status === 'failed' ? [{ key: errorCodesKey, value: ['webhook_failed'] }] : [],
      );
      if (status === 'failed') {
        throw deliveryFailure(deliveryId, current);
      }

      return status;
    }
  }
}

/** @returns null if another round ended the wait. */
async function endOf<T>(scope: CancellationScope, work: () => Promise<T>): Promise<T | null> {
  const outside = CancellationScope.current();
  try {
    return await scope.run(work);
  } catch (error) {
    const isEnded = isCancellation(error) || error instanceof ActivityFailure;
    if (!isEnded || !scope.consideredCancelled || outside.consideredCancelled) {
      throw error;
    }

    return null;
  }
}

/**
 * Starts one child workflow per delivery and waits until each has begun, because an abandoned child that has not begun
 * is lost when its parent ends. A child that exists is left alone, so a reset of the post's workflow repeats nothing.
 */
export async function startDeliveries(
  workspaceId: string,
  deliveryIds: readonly string[],
  postId: string,
): Promise<void> {
  // A server that lacks the attributes would refuse the child again and again. One that accepted the post's has them.
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  const start = async (deliveryId: string): Promise<void> => {
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
  };
  await Promise.all(deliveryIds.map(start));
}
