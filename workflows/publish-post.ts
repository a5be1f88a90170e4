import {
  CancellationScope,
  isCancellation,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { FinalizeRequest } from '../activities/finalize-post.ts';
import type { Activities } from '../activities/index.ts';
import type { Published } from '../db/restore-counter.ts';
import { claimed, interrupted } from '../domain/post-schedule.ts';
import type { EndedOutcome } from '../domain/statuses.ts';
import { startDeliveries } from './deliver-webhook.ts';
import { endedDetails, postFailure, stoppedDetails, type ChannelDetails } from './details.ts';
import type { PublishPostInput } from './messages.ts';
import { publishUntilChange } from './publish-channels.ts';
import { followMessages, untilDue, type Followed } from './schedule.ts';
import { endWait, markEnd } from './search-attributes.ts';

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

/** Wait between two claims, in milliseconds, so that a workflow never claims in a loop. */
const claimRestMs = 1000;

type End = { readonly outcome: EndedOutcome; readonly channels: readonly ChannelDetails[] };

/**
 * Waits until a post is due, publishes it on its channels, and starts the deliveries of its final event.
 *
 * @throws ApplicationFailure if a channel was not published, so that the workflow ends as Failed.
 */
export async function publishPost(input: PublishPostInput): Promise<'published' | 'stopped'> {
  const post = followMessages(input);
  try {
    const end = await publishWhenDue(input, post);
    markEnd(end?.outcome ?? 'cancelled', end?.channels ?? []);
    if (end && end.outcome !== 'published') {
      throw postFailure(end.outcome, end.channels);
    }

    return end ? 'published' : 'stopped';
  } catch (error) {
    if (isCancellation(error)) {
      // Cancelled in the Temporal UI: update the row too.
      await CancellationScope.nonCancellable(async () => {
        const end = await finalize(input, { revision: post.schedule.revision, isCancelled: true });
        markEnd(end?.outcome ?? 'cancelled', end?.channels ?? []);
      });
    }

    throw error;
  }
}

/**
 * From the first claim on the database decides: a lost signal can delay a post but never publish a wrong one. Whatever
 * interrupts the publishing, the next claim says how the post continues.
 *
 * @returns null if there is nothing to publish: the post is a draft, or was deleted.
 */
async function publishWhenDue(input: PublishPostInput, post: Followed): Promise<End | null> {
  const { workspaceId, postId } = input;
  const published = new Map<string, Published[string]>();
  for (let claimAtMs = 0; ;) {
    await untilDue(input, post);
    if (claimAtMs > Date.now()) {
      const summary = 'Wait before the post is checked again';
      await sleep(claimAtMs - Date.now(), { summary });
    }

    const before = post.schedule;
    const lost = published.size > 0 ? { published: Object.fromEntries(published) } : {};
    const request = { workspaceId, postId, nowMs: Date.now(), revision: before.revision, ...lost };
    const claim = await claimPost(request);
    claimAtMs = Date.now() + claimRestMs;
    if (claim.kind === 'gone') {
      if (post.schedule !== before) {
        continue; // A signal arrived during the claim, whose result may be older.
      }

      if (!claim.end) {
        setCurrentDetails(stoppedDetails(input));
      }

      return claim.end ? show(input, claim.end, 0) : null;
    }

    const { revision } = claim;
    const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : 0;
    post.schedule = claimed(post.schedule, before, { revision, dueAtMs });
    if (claim.kind === 'not_due') {
      continue;
    }

    endWait();
    const isWhole = await publishUntilChange(input, post, claim, published);
    const end =
      isWhole && (await finalize(input, { revision, published: Object.fromEntries(published) }));
    if (end && post.schedule.revision === revision) {
      return end;
    }

    post.schedule = interrupted(post.schedule);
  }
}

/** Finalizes the post and starts the deliveries of its event. @returns null if the post has not ended. */
async function finalize(
  input: PublishPostInput,
  request: Omit<FinalizeRequest, 'workspaceId' | 'postId'>,
): Promise<End | null> {
  const { workspaceId, postId } = input;
  const { end, deliveryIds } = await finalizePost({ workspaceId, postId, ...request });
  if (deliveryIds.length > 0) {
    await startDeliveries(workspaceId, deliveryIds, postId);
  }

  return end && show(input, end, deliveryIds.length);
}

function show(input: PublishPostInput, end: End, deliveries: number): End {
  setCurrentDetails(endedDetails(input, end.outcome, end.channels, deliveries));
  return end;
}
