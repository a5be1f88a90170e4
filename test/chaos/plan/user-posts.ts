import type { Random } from '../../support/simulation/random.ts';
import { shuffled } from './outages.ts';
import type { ChannelPlan, PostPlan, Step } from './post-plan.ts';

/** The fields that every post of a run has. */
export type Draft = {
  readonly marker: string;
  readonly windowMs: number;
  readonly channels: readonly ChannelPlan[];
};

const between = (random: Random, from: number, to: number): number =>
  from + random.next() * (to - from);

/** A post without user steps. */
export function plainPost(random: Random, draft: Draft): PostPlan {
  const dueMs = between(random, 4000, draft.windowMs);
  return {
    marker: draft.marker,
    parts: random.chance(0.3) ? 2 + random.below(3) : 1,
    channels: chooseShared(random, draft),
    createMs: createdAt(random, dueMs),
    dueMs,
    steps: [],
    files: [],
    faults: [],
  };
}

/**
 * A post on a channel that loses its access about then, and sometimes on another channel too.
 *
 * @param after Whether it is certainly due after that.
 */
export function postLosingAccess(
  random: Random,
  draft: Draft,
  { channel, after }: { readonly channel: number; readonly after: boolean },
): PostPlan {
  const post = plainPost(random, draft);
  const revokedAtMs = draft.channels[channel]?.revokedAtMs ?? 0;
  const dueMs = revokedAtMs + between(random, after ? 1000 : -10_000, 20_000);
  const channels = [channel, ...post.channels.slice(0, random.below(2))];
  return { ...post, channels, dueMs, createMs: createdAt(random, dueMs) };
}

/**
 * A post that is rescheduled to earlier and later times, sometimes just when it is due, and now and then very often.
 */
export function movedPost(random: Random, draft: Draft): PostPlan {
  const post = plainPost(random, draft);
  const createMs = Math.max(0, post.dueMs - between(random, 5000, 25_000));
  const moves = random.chance(0.1) ? 25 : 1 + random.below(4);
  const times = Array.from({ length: moves }, () =>
    between(random, createMs + 200, post.dueMs - 400),
  ).toSorted((a, b) => a - b);
  // The next move usually comes before each time, and now and then races with it.
  const dueUntil = (nextAtMs: number): number =>
    random.chance(0.1)
      ? nextAtMs + between(random, -150, 150)
      : nextAtMs + between(random, 1000, 60_000);
  const steps = times.map((atMs, index): Step => {
    const nextAtMs = times[index + 1];
    const dueMs = nextAtMs === undefined ? post.dueMs : dueUntil(nextAtMs);
    return { kind: 'move', atMs, dueMs, rewrite: random.chance(0.3) };
  });
  return { ...post, createMs, dueMs: dueUntil(times[0] ?? post.dueMs), steps };
}

/**
 * A post that is cancelled or deleted before its due time, at it, during the send, or while it waits for a retry.
 */
export function cancelledPost(random: Random, draft: Draft): PostPlan {
  const post = plainPost(random, draft);
  const cancelMs = post.dueMs + cancelAfterMs(random);
  const steps: Step[] = [{ kind: 'cancel', atMs: cancelMs }];
  if (random.chance(0.4)) {
    const atMs = cancelMs + between(random, 0, 4000);
    const dueMs = atMs + between(random, 500, 8000);
    steps.push({ kind: 'move', atMs, dueMs, rewrite: random.chance(0.3) });
  } else if (random.chance(0.5)) {
    steps.splice(0, 1, { kind: 'delete', atMs: cancelMs });
  }

  return { ...post, createMs: Math.min(post.createMs, cancelMs - 500), steps };
}

function cancelAfterMs(random: Random): number {
  const kind = random.next();
  if (kind < 0.25) {
    return between(random, -3000, -500);
  }

  if (kind < 0.55) {
    return between(random, -250, 250);
  }

  return kind < 0.8 ? between(random, 100, 1500) : between(random, 1500, 25_000);
}

/** One to three of the channels that keep their access. */
function chooseShared(random: Random, { channels }: Draft): number[] {
  const shared = channels.flatMap(({ revokedAtMs, isFrail }, index) =>
    revokedAtMs === null && !isFrail ? [index] : [],
  );
  return shuffled(random, shared).slice(0, 1 + random.below(3));
}

/** Some posts are due at once, and others wait for a while. */
export const createdAt = (random: Random, dueMs: number): number =>
  Math.max(0, random.chance(0.2) ? dueMs : dueMs - between(random, 1000, 15_000));
