import { CancellationScope, isCancellation, setCurrentDetails } from '@temporalio/workflow';
import type { PublishPostInput } from './messages.ts';
import { claimPost, finalizePost } from './own-steps.ts';
import { publishChannels, type Target } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { startDeliveries } from './start-deliveries.ts';

/** The result of a post's workflow. The post itself is in the database. */
export type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

/** Waits until a post is due, publishes it to each channel, and starts the webhook deliveries of its final event. */
export async function publishPost(input: PublishPostInput): Promise<PublishPostResult> {
  const schedule = followMessages(input);
  try {
    return await followSchedule(input, schedule);
  } catch (error) {
    if (isCancellation(error)) {
      // Cancelled in the Temporal UI: the row must become a draft too.
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

    // The database decides from here: a lost message can delay a post, but never publish a wrong one.
    const heard = schedule.revision;
    const claim = await claimPost({ workspaceId, postId, nowMs: Date.now() });
    if (claim.kind === 'gone' && schedule.revision !== heard) {
      continue; // A message arrived during the claim, so the claim's result may be stale.
    }

    if (claim.kind === 'gone') {
      setCurrentDetails('There was nothing to publish: the post is no longer scheduled.');
      return 'gone';
    }

    if (claim.kind === 'not_due') {
      learn(schedule, claim.revision, Date.parse(claim.dueAt));
      continue;
    }

    const { targets, revision: claimed = heard } = claim; // Claims in older histories have no revision.
    learn(schedule, claimed, schedule.dueAtMs);
    const result = await publish(input, schedule, claimed, targets);
    if (schedule.canceled || schedule.revision === claimed) {
      return result;
    }
    // The post was retried or rescheduled since the claim, and this workflow received the message.
  }
}

/** Takes over the database's state, unless a message that arrived meanwhile is newer. */
function learn(schedule: Schedule, revision: number, dueAtMs: number): void {
  if (revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}

async function publish(
  input: PublishPostInput,
  schedule: Schedule,
  claimed: number,
  targets: readonly Target[],
): Promise<PublishPostResult> {
  setCurrentDetails(`Publishing to ${targets.map(({ network }) => network).join(', ')}.`);
  const sending = new CancellationScope();
  // A new time also stops the sends: it implies a cancel whose message was lost or is late.
  schedule.onNews = () => sending.cancel();
  if (schedule.revision > claimed) {
    sending.cancel(); // The message arrived during the claim.
  }

  await sending.run(() => publishChannels(input, targets));
  // A post that was rescheduled meanwhile is no longer cancelled.
  const canceled = sending.consideredCancelled && schedule.canceled;
  return settle(input, schedule, canceled, claimed);
}

/** Finalizes the post, once, and starts the deliveries. */
async function settle(
  input: PublishPostInput,
  { revision }: Schedule,
  canceled: boolean,
  claimed?: number,
): Promise<PublishPostResult> {
  const { workspaceId, postId } = input;
  const request = {
    workspaceId,
    postId,
    revision,
    canceled,
    ...(claimed !== undefined && { claimed }),
  };
  const { status, deliveryIds } = await finalizePost(request);
  await startDeliveries(workspaceId, deliveryIds);
  setCurrentDetails(`The post is **${status}**. Webhooks to deliver: ${deliveryIds.length}.`);
  return status;
}
