import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { publishQueue, type PublishPostInput } from './messages.ts';
import { startDeliveries } from './start-deliveries.ts';

export type Target = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
};

/**
 * Sends a post to its channels in parallel. A channel's failure does not affect the others: the database has each
 * result, and `finalizePost` reads it there.
 */
export async function publishChannels(
  { workspaceId, postId }: PublishPostInput,
  targets: readonly Target[],
): Promise<void> {
  await Promise.all(targets.map((target) => publishTo(workspaceId, postId, target)));
}

async function publishTo(workspaceId: string, postId: string, target: Target): Promise<void> {
  const { postChannelId, channelId, network } = target;
  const { publishChannel } = activitiesFor(network, channelId);
  try {
    const { deliveryIds } = await publishChannel({ workspaceId, postId, postChannelId });
    await CancellationScope.nonCancellable(() => startDeliveries(workspaceId, deliveryIds));
  } catch (error) {
    // Cancelled before it began, or timed out. The row is not final; `finalizePost` ends it.
    if (!isCancellation(error) && !(error instanceof ActivityFailure)) {
      throw error;
    }
  }
}

const activitiesFor = (network: string, channelId: string) =>
  proxyActivities<Activities>({
    taskQueue: publishQueue(network),
    summary: `${network} channel ${channelId}`,
    // A channel that is being sent finishes in spite of a cancel, and the finalize waits for it.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    // Longer than one attempt may take, so that an attempt ends by its own clock.
    startToCloseTimeout: '5 minutes',
    // Detects a killed worker. An attempt heartbeats after 5 s first, so a usual one records none.
    heartbeatTimeout: '20 seconds',
    // Backstop: the activity fails a channel 24 h after its due time.
    scheduleToCloseTimeout: '26 hours',
    // Failures carry their delay (`nextRetryDelay`); these intervals are for crashes. Each attempt starts at the
    // ledger, so a repeat never resends a part that may be live.
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
