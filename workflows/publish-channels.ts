import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { networkName, type ChannelState } from './details.ts';
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
 *
 * @param show Called with what is known of all channels, at first and whenever more is.
 * @returns the targets that have their post.
 */
export async function publishChannels(
  input: PublishPostInput,
  targets: readonly Target[],
  show: (channels: readonly ChannelState[]) => void,
): Promise<Target[]> {
  const channels = targets.map(({ channelId, network }): ChannelState => {
    return { channelId, network, status: 'under way' };
  });
  show(channels);
  const setOutcome = (index: number, outcome: Pick<ChannelState, 'status' | 'code'>): void => {
    Object.assign(channels[index] ?? {}, outcome);
    show(channels);
  };
  await Promise.all(
    targets.map((target, index) => publishTo(input, target, setOutcome.bind(null, index))),
  );
  return targets.filter((_, index) => channels[index]?.status === 'published');
}

async function publishTo(
  { workspaceId, postId }: PublishPostInput,
  { postChannelId, channelId, network }: Target,
  setOutcome: (outcome: Pick<ChannelState, 'status' | 'code'>) => void,
): Promise<void> {
  const { publishChannel } = activitiesFor(network, channelId);
  try {
    const { deliveryIds, ...outcome } = await publishChannel({
      workspaceId,
      postId,
      postChannelId,
    });
    // Each promise in a workflow costs a stack trace: none is made for nothing.
    if (deliveryIds.length > 0) {
      await CancellationScope.nonCancellable(() =>
        startDeliveries(workspaceId, deliveryIds, postId),
      );
    }

    setOutcome(outcome);
  } catch (error) {
    // Cancelled before it began, or out of time: the row is not final, and finalizePost says how it ends.
    if (!isCancellation(error) && !(error instanceof ActivityFailure)) {
      throw error;
    }

    setOutcome({ status: 'stopped' });
  }
}

const activitiesFor = (network: string, channelId: string) =>
  proxyActivities<Activities>({
    taskQueue: publishQueue(network),
    summary: `Publish to ${networkName(network)}, channel ${channelId}`,
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
