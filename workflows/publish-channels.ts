import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { Go, Target } from '../activities/claim-post.ts';
import type { Activities } from '../activities/index.ts';
import type { Published } from '../db/restore-counter.ts';
import { startDeliveries } from './deliver-webhook.ts';
import { channelLabel, publishingDetails, type ChannelDetails } from './details.ts';
import { publishQueue, type PublishPostInput } from './messages.ts';
import type { Followed } from './schedule.ts';

/**
 * Publishes the post on its channels concurrently, until a signal says that it changed. A send under way finishes.
 *
 * @param published Gets the channels that were or may be published, with the time at which the attempts began.
 * @returns false if it was interrupted.
 */
export async function publishUntilChange(
  input: PublishPostInput,
  post: Followed,
  { revision, targets }: Go,
  published: Map<string, Published[string]>,
): Promise<boolean> {
  const sending = new CancellationScope();
  const at = Date.now();
  post.onChange = () => sending.cancel();
  if (post.schedule.revision > revision) {
    sending.cancel(); // The signal arrived during the claim.
  }

  const channels = targets.map(({ postChannelId: _, ...channel }): ChannelDetails => {
    return { ...channel, status: 'under way' };
  });
  const show = (): void => setCurrentDetails(publishingDetails(input, revision, channels));
  show();
  const publish = (target: Target, index: number): Promise<void> =>
    publishTo(input, target, (outcome) => {
      Object.assign(channels[index] ?? {}, outcome);
      if (outcome.status === 'published' || outcome.status === 'unconfirmed') {
        published.set(target.postChannelId, { status: outcome.status, at });
      }

      show();
    });
  await sending.run(() => Promise.all(targets.map(publish)));
  post.onChange = () => undefined;
  return !sending.consideredCancelled;
}

async function publishTo(
  { workspaceId, postId }: PublishPostInput,
  { postChannelId, ...channel }: Target,
  setOutcome: (outcome: Pick<ChannelDetails, 'status' | 'code'>) => void,
): Promise<void> {
  const { publishChannel } = activitiesFor(channel, 'Publish to');
  try {
    const request = { workspaceId, postId, postChannelId };
    const { deliveryIds = [], ...outcome } = await publishChannel(request);
    if (deliveryIds.length > 0) {
      await CancellationScope.nonCancellable(() =>
        startDeliveries(workspaceId, deliveryIds, postId),
      );
    }

    setOutcome(outcome);
  } catch (error) {
    // Cancelled before it began, or timed out: the row is not final, and `finalizePost` decides how it ends.
    if (!isCancellation(error) && !(error instanceof ActivityFailure)) {
      throw error;
    }

    setOutcome({ status: 'stopped' });
  }
}

/** The activities of a network, to publish or remove a post. @param verb For the Temporal UI. */
export const activitiesFor = (channel: Omit<Target, 'postChannelId'>, verb: string) =>
  proxyActivities<Activities>({
    taskQueue: publishQueue(channel.network),
    summary: `${verb} ${channelLabel(channel)}`,
    // A channel that is being sent finishes despite a cancel, and the post's end waits for its result.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    // Longer than an attempt's own timeout, so that the attempt ends itself.
    startToCloseTimeout: '5 minutes',
    // Detects a killed worker. The first heartbeat comes after 5 s, so a usual attempt records none.
    heartbeatTimeout: '20 seconds',
    // Backstop: the activity itself gives up 24 h after the post's time, or the request to remove it.
    scheduleToCloseTimeout: '26 hours',
    // Regular waits come with the failure (nextRetryDelay); these intervals are for crashes. Each attempt starts from
    // the ledger, so a retry never sends twice.
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
