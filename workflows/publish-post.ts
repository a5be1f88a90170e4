import {
  CancellationScope,
  isCancellation,
  patched,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { FinalizeRequest } from '../activities/finalize-post/finalized.ts';
import type { EndedOutcome } from '../domain/post-status.ts';
import { ended, publishing, stopped, type ChannelState } from './details.ts';
import { postFailure } from './failures.ts';
import { finalizePost } from './local-activities.ts';
import type { PublishPostInput } from './messages.ts';
import { adoptClaim, paceClaim, untilMayClaim, type Pace } from './pace-claims.ts';
import { publishChannels, type Target } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { markEnd } from './search-attributes.ts';
import { startDeliveries } from './start-deliveries.ts';

/** How the workflow of a post ended. The post itself is in the database. */
type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

type End = {
  readonly result: PublishPostResult;
  readonly channels?: readonly ChannelState[];
  /** Left out when the post did not end, and by older histories. */
  readonly outcome?: EndedOutcome | undefined;
  /** A cancel lets some of them finish. */
  readonly isUnfinished?: boolean;
};

/**
 * Waits until a post is due, publishes it on each of its channels, and hands its final event to the webhooks.
 *
 * @throws ApplicationFailure when a channel did not get the post, so that the workflow ends as Failed. A result `failed`
 *   is only in older histories.
 */
export async function publishPost(input: PublishPostInput): Promise<PublishPostResult> {
  const schedule = followMessages(input);
  try {
    const { result, outcome, channels = [] } = await followSchedule(input, schedule);
    markEnd(outcome ?? 'cancelled', channels);
    if (outcome && outcome !== 'published') {
      throw postFailure(outcome, channels);
    }

    return result;
  } catch (error) {
    if (isCancellation(error)) {
      // Cancelled in the Temporal UI: the row must say so as well.
      await CancellationScope.nonCancellable(async () => {
        const end = await finalize(input, schedule, true);
        markEnd(end?.outcome ?? 'cancelled', end?.channels ?? []);
      });
    }

    throw error;
  }
}

async function followSchedule(input: PublishPostInput, schedule: Schedule): Promise<End> {
  const pace: Pace = { claims: 0, notBeforeMs: 0 };
  const published = new Set<string>();
  for (;;) {
    await untilDue(input, schedule);
    if (schedule.canceled && schedule.isUnfinished) {
      claimAtOnce(schedule);
    }

    // A cancel that was doubted may be one that the database has lost: it is asked.
    if (schedule.canceled && !(schedule.doubted && patched('doubted-cancel'))) {
      setCurrentDetails(stopped(input, 'Cancelled before its time: the post is a draft.'));
      return { result: 'canceled' };
    }

    if (await untilMayClaim(pace)) {
      continue; // The time may be another one by now.
    }

    // From here the database decides: a lost message can delay a post but never publish a wrong one.
    const revisionBefore = schedule.revision;
    schedule.doubted = false;
    const claim = await paceClaim(input, pace);
    if (claim.kind === 'gone' && (schedule.revision !== revisionBefore || schedule.doubted)) {
      continue; // A signal came during the claim, whose answer may be older.
    }

    if (claim.kind === 'gone' && claim.end) {
      // It has ended already: an operator reset this workflow, or somebody settled the post.
      const { outcome, channels } = claim.end;
      setCurrentDetails(ended(input, outcome, channels, 0));
      return { result: outcome === 'published' ? 'published' : 'failed', outcome, channels };
    }

    if (claim.kind === 'gone') {
      setCurrentDetails(
        stopped(input, 'There was nothing to publish: the post is no longer scheduled.'),
      );
      return { result: 'gone' };
    }

    adoptClaim(schedule, revisionBefore, claim);
    if (claim.kind === 'not_due') {
      continue;
    }

    // A database that was restored or failed over may have forgotten that a channel has its post.
    const targets = claim.targets.filter(({ postChannelId }) => !published.has(postChannelId));
    const claimed = { revision: claim.revision ?? revisionBefore, targets, published };
    const end = await publish(input, schedule, claimed);
    if (end) {
      return end;
    }
  }
}

/** The channels of a cancelled post that must be finished are claimed at once. */
const claimAtOnce = (schedule: Schedule): Schedule =>
  Object.assign(schedule, { canceled: false, isUnfinished: false, dueAtMs: Date.now() });

type Claimed = {
  /** The post's at the claim. */
  readonly revision: number;
  readonly targets: readonly Target[];
  /** The channels of which this workflow knows that they have their post. `publish` adds those that get it. */
  readonly published: Set<string>;
};

/** @returns null when this was not the post's end: this workflow has the signal that says what comes next. */
async function publish(
  input: PublishPostInput,
  schedule: Schedule,
  { revision: claimed, targets, published }: Claimed,
): Promise<End | null> {
  const sending = untilChange(schedule, claimed);
  const show = (channels: readonly ChannelState[]): void =>
    setCurrentDetails(publishing(input, claimed, channels));
  const sent = await sending.run(() => publishChannels(input, targets, show));
  for (const { postChannelId } of sent) {
    published.add(postChannelId);
  }

  // A post that was scheduled anew meanwhile is not cancelled any more.
  const canceled = sending.consideredCancelled && schedule.canceled;
  const revisionBefore = schedule.revision;
  const known = { claimed, published: [...published] };
  const end = await finalize(input, schedule, canceled, known);
  if (end?.isUnfinished) {
    // What was being sent when it was cancelled is claimed once more: at once, unless there is another time by now.
    if (schedule.canceled) {
      claimAtOnce(schedule);
    }

    return null;
  }

  if (end === null) {
    // What stopped it is not in the database, so the post goes on.
    if (schedule.revision === revisionBefore) {
      Object.assign(schedule, { revision: claimed, dueAtMs: Date.now() });
    }

    return null;
  }

  if (schedule.canceled && schedule.isUnfinished && schedule.revision !== revisionBefore) {
    return null; // A cancel that left something to finish came while the end was written.
  }

  // It was retried, or cancelled and scheduled anew, since the claim; or a signal of a restored database said so.
  const isOver = schedule.canceled || schedule.revision === claimed;
  return isOver && !(schedule.doubted && end.result === 'gone') ? end : null;
}

/** A scope that ends with the next signal. */
function untilChange(schedule: Schedule, claimed: number): CancellationScope {
  const scope = new CancellationScope();
  // A new time stops it as well: it means that there was a cancel, whose signal was lost or is late.
  schedule.onChange = () => scope.cancel();
  if (schedule.revision > claimed) {
    scope.cancel(); // The signal came during the claim.
  }

  return scope;
}

/** Finalizes the post, once, and starts the deliveries of its event. @returns null when it is still being published. */
async function finalize(
  input: PublishPostInput,
  { revision }: Schedule,
  canceled: boolean,
  known: Pick<FinalizeRequest, 'claimed' | 'published'> = {},
): Promise<End | null> {
  const { workspaceId, postId } = input;
  const request = {
    workspaceId,
    postId,
    revision,
    canceled,
    ...known,
  };
  // Results in older histories have neither channels nor an outcome.
  const finalized = await finalizePost(request);
  const { status, outcome, deliveryIds, channels = [], unfinished = false } = finalized;
  if (status === 'publishing') {
    return null;
  }

  if (deliveryIds.length > 0) {
    await startDeliveries(workspaceId, deliveryIds, postId);
  }

  setCurrentDetails(ended(input, outcome ?? status, channels, deliveryIds.length));
  return { result: status, outcome, channels, isUnfinished: unfinished };
}
