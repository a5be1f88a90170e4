import type { PostView } from '../../domain/post-view.ts';
import type { PostPlan } from './plan/post-plan.ts';

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
export type Lived = {
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
};

/** A post whose life has yet to begin. */
export const unborn = (plan: PostPlan): Lived => ({
  plan,
  id: '',
  version: 1,
  inForce: [],
  cancels: [],
  retries: 0,
  unsureRetries: 0,
  isDraft: false,
  end: null,
});

/** What was in force is not any more. */
export function endInForce({ inForce }: Lived, atMs: number): void {
  for (const each of inForce) {
    each.untilMs = Math.min(each.untilMs, atMs);
  }
}

/** Numbers of the channels of which a post has found that their access is lost. */
export function lostChannels(lived: readonly Lived[], channelIds: readonly string[]): Set<number> {
  const lost = lived
    .flatMap(({ end }) => end?.channels ?? [])
    .filter(({ error_code: code }) => code === 'access_lost');
  return new Set(lost.map(({ channel_id: id }) => channelIds.indexOf(id)));
}
