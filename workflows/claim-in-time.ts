import { sleep } from '@temporalio/workflow';
import type { Claim } from '../activities/claim-post.ts';
import { calmAfterMs } from '../domain/pacing.ts';
import type { PublishPostInput } from './messages.ts';
import { claimPost } from './own-steps.ts';
import type { Schedule } from './schedule.ts';

// After the first timer: histories of claims that named no rest go on without one.

/** Keeps a workflow's claims apart. */
export type Pace = {
  /** How many were made shortly after each other. */
  claims: number;
  /** When the next one may be made, in milliseconds since 1970. */
  notBeforeMs: number;
};

/** @returns whether there was something to wait for. */
export async function untilRested({ notBeforeMs }: Pace): Promise<boolean> {
  const restMs = notBeforeMs - Date.now();
  if (restMs <= 0) {
    return false;
  }

  await sleep(restMs, { summary: 'until the database is asked again' });
  return true;
}

/** Asks the database whether the post goes out now, and notes when it may be asked again. */
export async function claimInTime(
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
 * Takes over what the database said, unless a message that came while it was asked is newer. Its revision may be lower
 * than the highest that was heard: a database that was restored or failed over goes on from what it has, and a message
 * may be made up.
 *
 * @param heard The revision before it was asked.
 */
export function believe(
  schedule: Schedule,
  heard: number,
  claim: Exclude<Claim, { readonly kind: 'gone' }>,
): void {
  const { revision = heard, restMs } = claim; // Claims in older histories say nothing of revisions.
  const dueAtMs = claim.kind === 'not_due' ? Date.parse(claim.dueAt) : schedule.dueAtMs;
  const isAlone = schedule.revision === heard && restMs !== undefined;
  if (isAlone || revision > schedule.revision) {
    Object.assign(schedule, { revision, dueAtMs, canceled: false, isUnfinished: false });
  } else if (revision === schedule.revision) {
    schedule.dueAtMs = dueAtMs;
  }
}
