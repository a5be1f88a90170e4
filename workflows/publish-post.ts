import {
  CancellationScope,
  isCancellation,
  patched,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { FinalizeRequest } from '../activities/finalize-post/finalized.ts';
import type { EndedOutcome } from '../domain/post-status.ts';
import { endedDetails, publishingDetails, stoppedDetails, type ChannelDetails } from './details.ts';
import { postFailure } from './failures.ts';
import { finalizePost } from './local-activities.ts';
import type { PublishPostInput } from './messages.ts';
import { adoptClaim, paceClaim, untilMayClaim, type Pace } from './pace-claims.ts';
import { publishChannels, type PublishTarget } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { markEnd } from './search-attributes.ts';
import { startDeliveries } from './start-deliveries.ts';

/** Result of a post's workflow. The post itself is in the database. */
type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

type End = {
  readonly result: PublishPostResult;
  readonly channels?: readonly ChannelDetails[];
  /** Missing if the post did not end, and in older histories. */
  readonly outcome?: EndedOutcome | undefined;
  /** Some channels have to finish despite a cancel. */
  readonly isUnfinished?: boolean;
};

/**
 * Waits until a post is due, publishes it on its channels, and starts the deliveries of its final event.
 *
 * @throws ApplicationFailure if a channel was not published, so that the workflow ends as Failed. Only older histories
 * have the result `failed`.
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
      // Cancelled in the Temporal UI: update the row too.
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

    // The database may have lost a doubted cancel, so claim the post to find out.
    if (schedule.canceled && !(schedule.doubted && patched('doubted-cancel'))) {
      setCurrentDetails(stoppedDetails(input, 'Cancelled before its time: the post is a draft.'));
      return { result: 'canceled' };
    }

    if (await untilMayClaim(pace)) {
      continue; // The time may have changed during the wait.
    }

    // From here on the database decides: a lost signal can delay a post but never publish a wrong one.
    const revisionBefore = schedule.revision;
    schedule.doubted = false;
    const claim = await paceClaim(input, pace);
    if (claim.kind === 'gone' && (schedule.revision !== revisionBefore || schedule.doubted)) {
      continue; // A signal arrived during the claim, whose result may be older.
    }

    if (claim.kind === 'gone' && claim.end) {
      // The post has ended already: an operator reset this workflow, or a channel was settled.
      const { outcome, channels } = claim.end;
      setCurrentDetails(endedDetails(input, outcome, channels, 0));
      return { result: outcome === 'published' ? 'published' : 'failed', outcome, channels };
    }

    if (claim.kind === 'gone') {
      setCurrentDetails(
        stoppedDetails(input, 'There was nothing to publish: the post is no longer scheduled.'),
      );
      return { result: 'gone' };
    }

    adoptClaim(schedule, revisionBefore, claim);
    if (claim.kind === 'not_due') {
      continue;
    }

    // A database that was restored or failed over may have lost the result of a channel.
    const targets = claim.targets.filter(({ postChannelId }) => !published.has(postChannelId));
    const claimed = { revision: claim.revision ?? revisionBefore, targets, published };
    const end = await publish(input, schedule, claimed);
    if (end) {
      return end;
    }
  }
}

/** Schedules an immediate claim, for channels of a cancelled post that have to finish. */
const claimAtOnce = (schedule: Schedule): Schedule =>
  Object.assign(schedule, { canceled: false, isUnfinished: false, dueAtMs: Date.now() });

type Claimed = {
  /** The post's revision at the claim. */
  readonly revision: number;
  readonly targets: readonly PublishTarget[];
  /** Channels that this workflow published. `publish` adds to it. */
  readonly published: Set<string>;
};

/** @returns null if the post continues; the schedule then has the next step. */
async function publish(
  input: PublishPostInput,
  schedule: Schedule,
  { revision: claimed, targets, published }: Claimed,
): Promise<End | null> {
  const sending = untilChange(schedule, claimed);
  const show = (channels: readonly ChannelDetails[]): void =>
    setCurrentDetails(publishingDetails(input, claimed, channels));
  const sent = await sending.run(() => publishChannels(input, targets, show));
  for (const { postChannelId } of sent) {
    published.add(postChannelId);
  }

  // A post that was scheduled again meanwhile is no longer cancelled.
  const canceled = sending.consideredCancelled && schedule.canceled;
  const revisionBefore = schedule.revision;
  const known = { claimed, published: [...published] };
  const end = await finalize(input, schedule, canceled, known);
  if (end?.isUnfinished) {
    // Claim the unfinished channels again at once, unless there is a new time.
    if (schedule.canceled) {
      claimAtOnce(schedule);
    }

    return null;
  }

  if (end === null) {
    // The change that stopped it is not in the database, so the post continues.
    if (schedule.revision === revisionBefore) {
      Object.assign(schedule, { revision: claimed, dueAtMs: Date.now() });
    }

    return null;
  }

  if (schedule.canceled && schedule.isUnfinished && schedule.revision !== revisionBefore) {
    return null; // A cancel with channels to finish arrived during finalize.
  }

  // The post was retried, or cancelled and scheduled again, since the claim; or a signal of a restored database said
  // so.
  const isOver = schedule.canceled || schedule.revision === claimed;
  return isOver && !(schedule.doubted && end.result === 'gone') ? end : null;
}

/** Returns a scope that the next signal cancels. */
function untilChange(schedule: Schedule, claimed: number): CancellationScope {
  const scope = new CancellationScope();
  // A new time also cancels it: it implies a cancel whose signal was lost or is late.
  schedule.onChange = () => scope.cancel();
  if (schedule.revision > claimed) {
    scope.cancel(); // The signal arrived during the claim.
  }

  return scope;
}

/** Finalizes the post and starts the deliveries of its event. @returns null if it is still publishing. */
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
  // Older histories have neither channels nor an outcome.
  const finalized = await finalizePost(request);
  const { status, outcome, deliveryIds, channels = [], unfinished = false } = finalized;
  if (status === 'publishing') {
    return null;
  }

  if (deliveryIds.length > 0) {
    await startDeliveries(workspaceId, deliveryIds, postId);
  }

  setCurrentDetails(endedDetails(input, outcome ?? status, channels, deliveryIds.length));
  return { result: status, outcome, channels, isUnfinished: unfinished };
}
