import { sleep } from '@temporalio/workflow';
import type { Claim } from '../activities/claim-post.ts';
import { calmAfterMs } from '../domain/pacing.ts';
import { claimPost } from './local-activities.ts';
import type { PublishPostInput } from './messages.ts';
import type { Schedule } from './schedule.ts';

// Runs after the first timer: older histories, whose claims name no `restMs`, continue without a wait.

/** Spacing of a workflow's claims. */
export type Pace = {
  /** Number of claims in short succession. */
  claims: number;
  /** Earliest time of the next claim, in milliseconds since 1970. */
  notBeforeMs: number;
};

/** Waits until the next claim may be made. @returns whether it had to wait. */
export async function untilMayClaim({ notBeforeMs }: Pace): Promise<boolean> {
  const restMs = notBeforeMs - Date.now();
  if (restMs <= 0) {
    return false;
  }

  await sleep(restMs, { summary: 'Wait before the post is checked again' });
  return true;
}

/** Claims the post and stores the earliest time of the next claim. */
export async function paceClaim(
  { workspaceId, postId }: PublishPostInput,
  pace: Pace,
): Promise<Claim> {
  const nowMs = Date.now();
  if (nowMs >= pace.notBeforeMs + calmAfterMs) {
    pace.claims = 0;
  }

  const claim = await claimPost({ workspaceId, postId, nowMs, claimsBefore: pace.claims });
  pace.claims += 1;
  pace.notBeforeMs = Date.now() + (claim.restMs ?? 0);
  return claim;
}

/**
 * Sets the schedule to the claim's result, unless a signal that arrived during the claim is newer. The claim's revision
 * may be lower than the highest signalled one: the database may have been restored or failed over, or a signal may be
 * forged.
 *
 * @param revisionBefore The schedule's revision before the claim.
 */
export function adoptClaim(
  schedule: Schedule,
  revisionBefore: number,
  claim: Exclude<Claim, { readonly kind: 'gone' }>,
): void {
  const { revision = revisionBefore, restMs } = claim; // Missing in older histories.
  const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : schedule.dueAtMs;
  const isAlone = schedule.revision === revisionBefore && restMs !== undefined;
  if (isAlone || revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false, isUnfinished: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}
