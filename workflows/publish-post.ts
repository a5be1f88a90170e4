import { CancellationScope, isCancellation, setCurrentDetails } from '@temporalio/workflow';
import type { PublishPostInput } from './messages.ts';
import { claimPost, finalizePost } from './own-steps.ts';
import { publishChannels, type Target } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { startDeliveries } from './start-deliveries.ts';

/** How the workflow of a post ended. The post itself is in the database. */
export type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

/** Waits until a post is due, publishes it on each of its channels, and hands its final event to the webhooks. */
export async function publishPost(input: PublishPostInput): Promise<PublishPostResult> {
  const schedule = followMessages(input);
  try {
    return await followSchedule(input, schedule);
  } catch (error) {
    if (isCancellation(error)) {
      // Somebody pressed Cancel in the Temporal UI: the row must say so as well.
      await CancellationScope.nonCancellable(() => settle(input, schedule, true));
    }

    throw error;
  }
}

async function followSchedule(
  input: PublishPostInput,
  schedule: Schedule,
): Promise<PublishPostResult> {
  const { workspaceId, postId } = input;
  for (;;) {
    await untilDue(input, schedule);
    if (schedule.canceled) {
      setCurrentDetails('Cancelled before its time.');
      return 'canceled';
    }

    // From here the database decides: a lost message can delay a post but never publish a wrong one.
    const claim = await claimPost({ workspaceId, postId, nowMs: Date.now() });
    if (claim.kind === 'gone') {
      setCurrentDetails('There was nothing to publish: the post is no longer scheduled.');
      return 'gone';
    }

    if (claim.kind === 'not_due') {
      schedule.revision = Math.max(schedule.revision, claim.revision);
      schedule.dueAtMs = Date.parse(claim.dueAt);
      continue;
    }

    const { revision } = schedule;
    const result = await publish(input, schedule, claim.targets);
    if (schedule.canceled || schedule.revision === revision) {
      return result;
    }
    // It was cancelled and scheduled anew while it was being sent: this workflow is the one that was told.
  }
}

async function publish(
  input: PublishPostInput,
  schedule: Schedule,
  targets: readonly Target[],
): Promise<PublishPostResult> {
  setCurrentDetails(`Publishing to ${targets.map(({ network }) => network).join(', ')}.`);
  const sending = new CancellationScope();
  schedule.onCancel = () => sending.cancel();
  if (schedule.canceled) {
    sending.cancel(); // The cancel came while the claim was made.
  }

  await sending.run(() => publishChannels(input, targets));
  // A post that was scheduled anew meanwhile is not cancelled any more.
  return settle(input, schedule, sending.consideredCancelled && schedule.canceled);
}

/** Writes the post's end, once, and starts what follows from it. */
async function settle(
  input: PublishPostInput,
  { revision }: Schedule,
  canceled: boolean,
): Promise<PublishPostResult> {
  const { workspaceId, postId } = input;
  const { status, deliveryIds } = await finalizePost({ workspaceId, postId, revision, canceled });
  await startDeliveries(workspaceId, deliveryIds);
  setCurrentDetails(`The post is **${status}**. Webhooks to deliver: ${deliveryIds.length}.`);
  return status;
}
