import {
  CancellationScope,
  isCancellation,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { Claim } from '../activities/claim-post.ts';
import type { FinalizeRequest } from '../activities/end-of-post.ts';
import type { Activities } from '../activities/index.ts';
import type { EndedOutcome } from '../domain/statuses.ts';
import { startDeliveries } from './deliver-webhook.ts';
import {
  endedDetails,
  postFailure,
  publishingDetails,
  stoppedDetails,
  type ChannelDetails,
} from './details.ts';
import type { PublishPostInput } from './messages.ts';
import { publishChannels, type PublishTarget } from './publish-channels.ts';
import { followMessages, untilDue, type Schedule } from './schedule.ts';
import { markEnd } from './search-attributes.ts';

/**
 * Short activities on the database. Local, because each history event is a write to the cluster: a post costs 19 events
 * this way and 29 with regular activities. Safe to repeat, so Temporal retries until the database is back.
 */
const local = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
  localRetryThreshold: '5 seconds',
} as const;

const { claimPost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'Check that the post is due, and where it goes',
});

const { finalizePost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'Record how the post ended, and its event',
});

/** Result of a post's workflow. The post itself is in the database. */
type PublishPostResult = 'published' | 'failed' | 'draft' | 'gone' | 'canceled';

/** Wait between two claims, in milliseconds, so that a workflow never claims in a loop. */
const claimRestMs = 1000;

type End = {
  readonly result: PublishPostResult;
  readonly channels?: readonly ChannelDetails[];
  /** Missing if the post did not end. */
  readonly outcome?: EndedOutcome | undefined;
  /** Some channels have to finish despite a cancel. */
  readonly isUnfinished?: boolean;
};

/**
 * Waits until a post is due, publishes it on its channels, and starts the deliveries of its final event.
 *
 * @throws ApplicationFailure if a channel was not published, so that the workflow ends as Failed.
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
        const known = { claimed: schedule.revision };
        const end = await finalize(input, schedule, true, known);
        markEnd(end?.outcome ?? 'cancelled', end?.channels ?? []);
      });
    }

    throw error;
  }
}

async function followSchedule(input: PublishPostInput, schedule: Schedule): Promise<End> {
  let claimAtMs = 0;
  const published = new Set<string>();
  for (;;) {
    await untilDue(input, schedule);
    if (schedule.canceled && schedule.isUnfinished) {
      claimAtOnce(schedule);
    }

    if (schedule.canceled) {
      const why = 'Cancelled before its time: the post is a draft, or was deleted.';
      setCurrentDetails(stoppedDetails(input, why));
      return { result: 'canceled' };
    }

    if (await restUntil(claimAtMs)) {
      continue; // The time may have changed during the wait.
    }

    // From here on the database decides: a lost signal can delay a post but never publish a wrong one.
    const revisionBefore = schedule.revision;
    const { workspaceId, postId } = input;
    const request = { workspaceId, postId, nowMs: Date.now() };
    const claim = await claimPost(
      published.size > 0 ? { ...request, published: [...published] } : request,
    );
    claimAtMs = Date.now() + claimRestMs;
    if (claim.kind === 'gone' && schedule.revision !== revisionBefore) {
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

    const { revision, targets } = claim;
    const end = await publish(input, schedule, { revision, targets, published });
    if (end) {
      return end;
    }
  }
}

/** Schedules an immediate claim, for channels of a cancelled post that have to finish. */
const claimAtOnce = (schedule: Schedule): Schedule =>
  Object.assign(schedule, { canceled: false, isUnfinished: false, dueAtMs: Date.now() });

/** Rests between two claims. @returns whether it had to. */
async function restUntil(claimAtMs: number): Promise<boolean> {
  const restMs = claimAtMs - Date.now();
  if (restMs <= 0) {
    return false;
  }

  await sleep(restMs, { summary: 'Wait before the post is checked again' });
  return true;
}

/**
 * Sets the schedule to the claim's result, unless a signal that arrived during the claim is newer. The claim's revision
 * may be lower than the highest signalled one, if the database was restored.
 *
 * @param revisionBefore The schedule's revision before the claim.
 */
function adoptClaim(
  schedule: Schedule,
  revisionBefore: number,
  claim: Exclude<Claim, { readonly kind: 'gone' }>,
): void {
  const { revision } = claim;
  const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : schedule.dueAtMs;
  if (schedule.revision === revisionBefore || revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false, isUnfinished: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}

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

  // Otherwise the post was retried, or cancelled and scheduled again, since the claim.
  return schedule.canceled || schedule.revision === claimed ? end : null;
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
  known: Pick<FinalizeRequest, 'claimed' | 'published'>,
): Promise<End | null> {
  const { workspaceId, postId } = input;
  const request = { workspaceId, postId, revision, canceled, ...known };
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
