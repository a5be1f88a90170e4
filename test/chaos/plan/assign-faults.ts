import type { Random } from '../../support/simulation/random.ts';
import { needsFile, sharedFaults, type PostFault } from './faults.ts';
import { partWithFile } from './files.ts';
import { platformsInTime, recoverySeconds } from './recovery.ts';
import { byTurns, platforms, type Platform } from './platforms.ts';
import { createdAt } from './user-posts.ts';
import { shuffled } from './outages.ts';
import type { ChannelPlan, PlannedFault, PostPlan } from './post-plan.ts';

type Wishes = {
  readonly isLong: boolean;
  /** How often each fault is planned, on all networks together. */
  readonly quota: number;
  /** The same for faults that kill a worker. */
  readonly deaths: number;
  readonly windowMs: number;
  /** Posts that are due before this may miss their fault, in milliseconds. */
  readonly firstDueMs: number;
  readonly channels: readonly ChannelPlan[];
};

/** How long after the last due time the run has to end, in milliseconds. */
const tailMs = 75_000;

/**
 * Assigns faults to posts that are not cancelled, so that each fault is certain to be applied; posts that are due early
 * get the longest ones. A post has at most one fault on each network, so that it ends in time. When there are too few
 * posts, some faults are not planned. Cancelled posts get some faults too, which they may miss.
 */
export function assignFaults(
  random: Random,
  posts: readonly PostPlan[],
  wishes: Wishes,
): PostPlan[] {
  const { channels, quota, deaths } = wishes;
  const isCertain = (post: PostPlan) =>
    post.steps.length === 0 &&
    post.channels.every((channel) => channels[channel]?.revokedAtMs === null);
  const given = giveOut(random, shuffled(random, posts.filter(isCertain)), wishes);
  return posts.map((post) => {
    const isCancelled = post.steps.some(({ kind }) => kind !== 'move');
    return isCancelled && random.chance(0.6)
      ? mayMiss(random, post, channels, deaths < quota)
      : (given.get(post.marker) ?? post);
  });
}

/** @returns the posts with their faults, by marker. */
function giveOut(
  random: Random,
  certain: readonly PostPlan[],
  { isLong, quota, deaths, channels, ...times }: Wishes,
): Map<string, PostPlan> {
  const given = new Map(certain.map((post) => [post.marker, post]));
  const hasRoom = (platform: Platform) => (post: PostPlan) =>
    post.faults.every((planned) => planned.platform !== platform);
  for (const { fault, platform } of inTurn(random, { isLong, quota, deaths })) {
    const fitting = [...given.values()].filter(hasRoom(platform));
    // Posts without a fault come before those with one.
    const post = fitting.toSorted((a, b) => a.faults.length - b.faults.length)[0];
    if (post) {
      const onNetwork = withChannel(random, post, platform, channels);
      const fit = inTime(random, onNetwork, recoverySeconds(fault, platform), times);
      const able = fault === 'terminated asleep' ? asleep(fit) : fit;
      given.set(post.marker, withFault(random, able, fault, platform));
    }
  }

  return given;
}

/** Longest faults first: they get posts of their own when posts are few. */
function inTurn(
  random: Random,
  { isLong, quota, deaths }: Pick<Wishes, 'isLong' | 'quota' | 'deaths'>,
): { fault: PostFault; platform: Platform }[] {
  const first = random.below(platforms.length);
  const wanted = sharedFaults.flatMap((fault, place) => {
    const fitting = platformsInTime(fault, isLong);
    return Array.from({ length: isCostly(fault) ? deaths : quota }, (_, index) => ({
      fault,
      platform: byTurns(fitting, first + place + index),
    }));
  });
  return shuffled(random, wanted).toSorted(
    (a, b) => recoverySeconds(b.fault, b.platform) - recoverySeconds(a.fault, a.platform),
  );
}

/** Faults that end or suspend a process or a workflow. */
const isCostly = (fault: PostFault): boolean => /^(?:killed|suspended|terminated)/v.test(fault);

/** The post with a channel on the network of its fault. */
function withChannel(
  random: Random,
  post: PostPlan,
  platform: Platform,
  channels: readonly ChannelPlan[],
): PostPlan {
  if (post.channels.some((channel) => channels[channel]?.platform === platform)) {
    return post;
  }

  const fitting = channels.flatMap((channel, index) =>
    channel.platform === platform && channel.revokedAtMs === null && !channel.isFrail
      ? [index]
      : [],
  );
  return { ...post, channels: [...post.channels, random.pick(fitting)] };
}

/** The post, created early enough that its workflow sleeps for a while. */
const asleep = (post: PostPlan): PostPlan => ({
  ...post,
  dueMs: Math.max(post.dueMs, 6000),
  createMs: Math.max(0, Math.min(post.createMs, post.dueMs - 6000)),
});

/** The post, due early enough to end within the run. */
function inTime(
  random: Random,
  post: PostPlan,
  seconds: number,
  { windowMs, firstDueMs }: Pick<Wishes, 'windowMs' | 'firstDueMs'>,
): PostPlan {
  const latestMs = Math.max(firstDueMs + 8000, windowMs + tailMs - seconds * 1000);
  if (post.dueMs >= firstDueMs && post.dueMs <= latestMs) {
    return post;
  }

  const dueMs = firstDueMs + random.next() * (Math.min(latestMs, windowMs) - firstDueMs);
  return { ...post, dueMs, createMs: createdAt(random, dueMs) };
}

function withFault(
  random: Random,
  post: PostPlan,
  fault: PostFault,
  platform: Platform,
  canMiss = false,
): PostPlan {
  const part = 1 + random.below(post.parts);
  const planned: PlannedFault = {
    id: `${post.marker}-f${post.faults.length + 1}`,
    fault,
    platform,
    part: needsFile(fault) ? (partWithFile(post) ?? part) : part,
    mayMiss: canMiss,
  };
  return { ...post, faults: [...post.faults, planned] };
}

function mayMiss(
  random: Random,
  post: PostPlan,
  channels: readonly ChannelPlan[],
  alive: boolean,
): PostPlan {
  const deaths = sharedFaults.filter((each) => each.startsWith('killed'));
  const fault = random.pick<PostFault>([
    'answer lost',
    'request after the timeout',
    '500, not done',
    ...(alive ? [] : deaths),
  ]);
  const { platform } = byTurns(channels, post.channels[0] ?? 0);
  return withFault(random, post, fault, platform, true);
}
