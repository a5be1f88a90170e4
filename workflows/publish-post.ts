import { CancellationScope, isCancellation, setCurrentDetails } from '@temporalio/workflow';
import { ended, publishing, stopped, type ChannelState } from './details.ts';
import { markEnd } from './mark-end.ts';
import type { PublishPostInput } from './messages.ts';
import { claimPost, finalizePost } from './own-steps.ts';
import { publishChannels } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { startDeliveries } from './start-deliveries.ts';

/** How the workflow of a post ended. The post itself is in the database. */
export type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

type End = {
  readonly result: PublishPostResult;
  readonly channels?: readonly ChannelState[];
};

/** Waits until a post is due, publishes it on each of its channels, and hands its final event to the webhooks. */
export async function publishPost(input: PublishPostInput): Promise<PublishPostResult> {
  const schedule = followMessages(input);
  try {
    const { result, channels = [] } = await followSchedule(input, schedule);
    markEnd(channels);
    return result;
  } catch (error) {
    if (isCancellation(error)) {
      // Somebody pressed Cancel in the Temporal UI: the row must say so as well.
      await CancellationScope.nonCancellable(async () => {
        const { channels = [] } = await settle(input, schedule, true);
        markEnd(channels);
      });
    }

    throw error;
  }
}

async function followSchedule(input: PublishPostInput, schedule: Schedule): Promise<End> {
  const { workspaceId, postId } = input;
  for (;;) {
    await untilDue(input, schedule);
    if (schedule.canceled) {
      setCurrentDetails(stopped(input, 'Cancelled before its time: the post is a draft.'));
      return { result: 'canceled' };
    }

    // From here the database decides: a lost message can delay a post but never publish a wrong one.
    const heard = schedule.revision;
    const claim = await claimPost({ workspaceId, postId, nowMs: Date.now() });
    if (claim.kind === 'gone' && schedule.revision !== heard) {
      continue; // News came while we asked: what the database said may be older.
    }

    if (claim.kind === 'gone') {
      setCurrentDetails(
        stopped(input, 'There was nothing to publish: the post is no longer scheduled.'),
      );
      return { result: 'gone' };
    }

    if (claim.kind === 'not_due') {
      learn(schedule, claim.revision, Date.parse(claim.dueAt));
      continue;
    }

    const { targets, revision: claimed = heard } = claim; // Claims in older histories say nothing of revisions.
    learn(schedule, claimed, schedule.dueAtMs);
    const sending = untilNews(schedule, claimed);
    const show = (channels: readonly ChannelState[]): void =>
      setCurrentDetails(publishing(input, claimed, channels));
    await sending.run(() => publishChannels(input, targets, show));
    // A post that was scheduled anew meanwhile is not cancelled any more.
    const canceled = sending.consideredCancelled && schedule.canceled;
    const end = await settle(input, schedule, canceled, claimed);
    if (schedule.canceled || schedule.revision === claimed) {
      return end;
    }
    // It was retried, or cancelled and scheduled anew, since the claim: this workflow is the one that was told.
  }
}

/** Takes over what the database said, unless a message that came meanwhile is newer. */
function learn(schedule: Schedule, revision: number, dueAtMs: number): void {
  if (revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}

/** A scope that ends with the next message. */
function untilNews(schedule: Schedule, claimed: number): CancellationScope {
  const scope = new CancellationScope();
  // A new time stops it as well: it means that there was a cancel, the message of which was lost or is late.
  schedule.onNews = () => scope.cancel();
  if (schedule.revision > claimed) {
    scope.cancel(); // The news came while the claim was made.
  }

  return scope;
}

/** Writes the post's end, once, and starts what follows from it. */
async function settle(
  input: PublishPostInput,
  { revision }: Schedule,
  canceled: boolean,
  claimed?: number,
): Promise<End> {
  const { workspaceId, postId } = input;
  const request = {
    workspaceId,
    postId,
    revision,
    canceled,
    ...(claimed !== undefined && { claimed }),
  };
  // Older histories say nothing of channels.
  const { status, deliveryIds, channels = [] } = await finalizePost(request);
  if (deliveryIds.length > 0) {
    await startDeliveries(workspaceId, deliveryIds, postId);
  }

  setCurrentDetails(ended(input, status, channels, deliveryIds.length));
  return { result: status, channels };
}
