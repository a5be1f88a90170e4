import type { PostView } from '../../domain/post-view.ts';
import type { Journal } from './parts/journal.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';

/** A time that was in force, in milliseconds since 1970. */
export type InForce = {
  readonly dueMs: number;
  readonly version: number;
  /** From when it may have been committed. */
  readonly fromMs: number;
  /** When something else was acknowledged in its place. */
  untilMs: number;
};

export type Cancelled = {
  readonly ackAtMs: number;
  readonly stillSending: number;
  /** When its user began to schedule it anew. */
  untilMs: number;
};

/** What a post's user knows of it. */
export type PostHistory = {
  readonly plan: PostPlan;
  id: string;
  version: number;
  readonly inForce: InForce[];
  readonly cancels: Cancelled[];
  /** Retries that were acknowledged, and how many more there may have been. */
  retries: number;
  unsureRetries: number;
  /** Whether the last thing acknowledged was a cancel. */
  isDraft: boolean;
  end: PostView | null;
  /** When that was seen, in milliseconds since 1970; null: not yet, or it was retried since. */
  endedAtMs: number | null;
  /** When its user last called, or Infinity while a call is under way. */
  calledAtMs: number;
  /** What its user does at a cue. */
  readonly acts: Promise<void>[];
  /** How often the database was restored to a time at which the post was, or may have been, another one. */
  restores: number;
  /** How many of its channels its user has settled, each of which ended the post anew. */
  settled: number;
  /** The restored database does not have it. */
  isGone: boolean;
};

/** In milliseconds since 1970. What was committed in between is gone. */
export type Restore = {
  readonly backupAtMs: number;
  readonly restoredAtMs: number;
  /** Ids of the posts whose workflow ended since the backup. */
  readonly ended?: ReadonlySet<string>;
};

/** A post whose life has yet to begin. */
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
 * The database was restored: what was acknowledged since the backup is not so any more, and what was in force then is in
 * force again. A post that slept and was left alone, or had ended, has lost nothing. A draft whose workflow ended only
 * after the backup may have been scheduled and sent since, as far as anybody can tell.
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

/** What was in force is not any more. */
export function endInForce({ inForce }: PostHistory, atMs: number): void {
  for (const each of inForce) {
    each.untilMs = Math.min(each.untilMs, atMs);
  }
}

/** The id of a fault: a channel's access is revoked. */
export const revocationId = (channel: number): string => `revoked-channel${channel}`;

/**
 * Notes of which revoked channels a post has found that their access is lost. It is to be called while that stands in
 * the posts: one that is settled after a restore of the database does not say so any more.
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
