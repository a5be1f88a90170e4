import type { PostView } from '../../domain/post-view.ts';
import type { Journal } from './parts/journal.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';

/** A due time that was in force. Times are in milliseconds since 1970. */
export type InForce = {
  readonly dueMs: number;
  readonly version: number;
  /** The earliest time at which it may have been committed. */
  readonly fromMs: number;
  /** When another call replaced it. */
  untilMs: number;
};

export type Cancelled = {
  readonly ackAtMs: number;
  readonly stillSending: number;
  /** When its user began to reschedule it. */
  untilMs: number;
};

/** Everything that a post's user knows about it. */
export type PostHistory = {
  readonly plan: PostPlan;
  id: string;
  version: number;
  readonly inForce: InForce[];
  readonly cancels: Cancelled[];
  /** Acknowledged retries, and how many more there may have been. */
  retries: number;
  unsureRetries: number;
  /** Whether the last acknowledged call was a cancel. */
  isDraft: boolean;
  end: PostView | null;
  /** When the end was seen, in milliseconds since 1970; null before that and after a retry. */
  endedAtMs: number | null;
  /** When its user last called, or Infinity while a call is running. */
  calledAtMs: number;
  /** The user's actions at cues. */
  readonly acts: Promise<void>[];
  /** How often the database was restored to a time at which the post was, or may have been, different. */
  restores: number;
  /** How many of its channels its user has settled. Each settle ended the post again. */
  settled: number;
  /** Its user deleted it, or the restored database does not have it. */
  isGone: boolean;
};

/** In milliseconds since 1970. Commits between the two times are lost. */
export type Restore = {
  readonly backupAtMs: number;
  readonly restoredAtMs: number;
  /** Ids of the posts whose workflow ended since the backup. */
  readonly ended?: ReadonlySet<string>;
};

/** A post before its creation. */
export const newHistory = (plan: PostPlan): PostHistory => ({
  plan,
  id: '',
  version: 1,
  inForce: [],
  cancels: [],
  retries: 0,
  unsureRetries: 0,
  isDraft: false,
  end: null,
  endedAtMs: null,
  calledAtMs: 0,
  acts: [],
  restores: 0,
  settled: 0,
  isGone: false,
});

/**
 * Applies a restore: calls that were acknowledged since the backup are lost, and the due time of the backup is in force
 * again. A post that slept untouched, or had ended, has lost nothing. A draft whose workflow ended only after the
 * backup may have been rescheduled and sent since.
 */
export function forget(history: PostHistory, { backupAtMs, restoredAtMs, ended }: Restore): void {
  const isTouched = history.calledAtMs >= backupAtMs;
  const hasEnded = history.endedAtMs !== null && history.endedAtMs < backupAtMs;
  const isDue = history.inForce.some(({ dueMs }) => dueMs <= restoredAtMs) && !hasEnded;
  const isListed = ended?.has(history.id) === true && history.end?.status === 'draft';
  if (!isTouched && !isDue && !isListed) {
    return;
  }

  history.restores += 1;
  const again = history.inForce.filter(
    ({ untilMs }) => untilMs > backupAtMs && untilMs <= restoredAtMs,
  );
  for (const { dueMs, version } of again) {
    history.inForce.push({ dueMs, version, fromMs: restoredAtMs, untilMs: Infinity });
  }
  for (const cancelled of history.cancels.filter(({ ackAtMs }) => ackAtMs >= backupAtMs)) {
    cancelled.untilMs = Math.min(cancelled.untilMs, restoredAtMs);
  }
}

/** Ends the due times that are in force. */
export function endInForce({ inForce }: PostHistory, atMs: number): void {
  for (const each of inForce) {
    each.untilMs = Math.min(each.untilMs, atMs);
  }
}

/** The fault id of a channel's revoked access. */
export const revocationId = (channel: number): string => `revoked-channel${channel}`;

/**
 * Records the revoked channels whose lost access a post has met. Must be called while the posts show it: a post that is
 * settled after a restore does not.
 */
export function noteLostAccess(
  { channels }: Pick<ChaosPlan, 'channels'>,
  journal: Pick<Journal, 'cameAbout' | 'injected'>,
  histories: readonly PostHistory[],
  channelIds: readonly string[],
): void {
  const lost = histories
    .flatMap(({ end }) => end?.channels ?? [])
    .filter(({ error_code: code }) => code === 'access_lost')
    .map(({ channel_id: id }) => channelIds.indexOf(id));
  for (const channel of new Set(lost)) {
    const isMeant = (channels[channel]?.revokedAtMs ?? null) !== null;
    if (isMeant && !journal.cameAbout(revocationId(channel))) {
      journal.injected('token revoked', revocationId(channel));
    }
  }
}
