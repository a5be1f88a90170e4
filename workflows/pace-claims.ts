import { sleep } from '@temporalio/workflow';
import type { Claim } from '../activities/claim-post.ts';
import { calmAfterMs } from '../domain/pacing.ts';
import { claimPost } from './local-activities.ts';
import type { PublishPostInput } from './messages.ts';
import type { Schedule } from './schedule.ts';

// After the first timer: histories of claims that named no rest go on without one.

/** Spaces a workflow's claims. */
export type Pace = {
  /** How many were made shortly after each other. */
  claims: number;
  /** When the next one may be made, in milliseconds since 1970. */
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

/** Claims the post, and keeps when the next claim may be made. */
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
 * Sets the schedule to what the claim answered, unless a signal that came during the claim is newer. The claim's revision
 * may be lower than the highest that was signalled: a database that was restored or failed over goes on from what it has,
 * and a signal may be made up.
 *
 * @param revisionBefore The schedule's, before the claim.
 */
export function adoptClaim(
  schedule: Schedule,
  revisionBefore: number,
  claim: Exclude<Claim, { readonly kind: 'gone' }>,
): void {
  const { revision = revisionBefore, restMs } = claim; // Claims in older histories have no revision.
  const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : schedule.dueAtMs;
  const isAlone = schedule.revision === revisionBefore && restMs !== undefined;
  if (isAlone || revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false, isUnfinished: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}
