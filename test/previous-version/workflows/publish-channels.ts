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
 * Sends a post to its channels, side by side. No channel's failure reaches its siblings: what became of each
 * is in the database, and `finalizePost` reads it there.
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
    // Cancelled before it began, or out of time: the row is not final, and finalizePost says how it ends.
    if (!isCancellation(error) && !(error instanceof ActivityFailure)) {
      throw error;
    }
  }
}

const activitiesFor = (network: string, channelId: string) =>
  proxyActivities<Activities>({
    taskQueue: publishQueue(network),
    summary: `${network} channel ${channelId}`,
    // A channel that is being sent finishes in spite of a cancel; the post's end waits for its result.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    // Above the time that one try may take in all, so that a try ends by its own clock.
    startToCloseTimeout: '5 minutes',
    // A killed worker is noticed this soon. A try first heartbeats after 5 s, so a usual one records none.
    heartbeatTimeout: '20 seconds',
    // The activity gives a channel up 24 h after its time by itself; this is the bound behind it.
    scheduleToCloseTimeout: '26 hours',
    // Waits that mean something come with the failure (nextRetryDelay); these are for crashes. Each try
    // starts at the ledger, so a repeat never sends what may have been sent.
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
