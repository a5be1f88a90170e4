import type { Random } from '../../support/simulation/random.ts';
import { refreshFaults, type RefreshFault } from './faults.ts';
import { byTurns, factsOf, isRotating, platforms as all } from './platforms.ts';
import type { ChannelPlan, Outage, PlannedRefreshFault, PostPlan } from './post-plan.ts';

// Channels with faults of their refreshes. They have posts of their own, so that a lost access prevents no other fault.

type Wishes = {
  readonly random: Random;
  readonly isLong: boolean;
  /** How often each fault is planned. */
  readonly quota: number;
  /** The same for the fault that kills a worker. */
  readonly deaths: number;
  readonly windowMs: number;
  readonly restores: readonly Outage[];
  /** The number of the first of these channels. */
  readonly firstChannel: number;
  /** The prefix of all markers of the run. */
  readonly run: string;
};

type Planned = {
  readonly channels: readonly ChannelPlan[];
  readonly faults: readonly PlannedRefreshFault[];
  readonly posts: readonly PostPlan[];
};

/** Networks with single-use refresh tokens, and networks that accept a token repeatedly. */
const rotating = all.filter(isRotating);
const fixed = all.filter((platform) => factsOf(platform).refreshTokens === 'reusable');

/** In milliseconds: after a restore at the beginning, and with time to recover at the end. */
const [firstMs, lastBeforeEndMs] = [30_000, 12_000];

/** How long after its fault is set a post is due, in milliseconds. */
const leadMs = 1000;

/**
 * Faults after which a grant with single-use refresh tokens has ended. Their post has others due before and after it by
 * these offsets, in milliseconds: one with an access token that may still be valid, one that may go out with it, and
 * one that must meet the lost access.
 */
const othersMs = [-6000, 7000, 40_000];
const losing: ReadonlySet<RefreshFault> = new Set([
  'refresh answer lost',
  'grant revoked',
  'killed after a refresh',
]);

/**
 * Plans `quota` of each fault, by turns on networks with single-use refresh tokens and on others, one after the other
 * on each channel. Each fault has a post whose attempt meets it. For each restore that loses new tokens, one post
 * requests them and another one finds them lost.
 */
export function planRefreshFaults(wishes: Wishes): Planned {
  const { random, isLong, quota, deaths, windowMs, restores, firstChannel, run } = wishes;
  const platforms = Array.from({ length: isLong ? 3 : 2 }, () => [...rotating, ...fixed]).flat();
  const first = random.below(2);
  const places = platforms.map((_, index) => firstChannel + index);
  const byChannel = new Map(places.map((channel) => [channel, [] as RefreshFault[]]));
  for (const [kind, fault] of refreshFaults.entries()) {
    for (let copy = 0; copy < (fault === 'killed after a refresh' ? deaths : quota); copy += 1) {
      const among = copy % 2 === 0 ? rotating : fixed;
      const platform = among[(first + kind + Math.floor(copy / 2)) % among.length];
      const [, own] =
        [...byChannel]
          .filter(([channel]) => platforms[channel - firstChannel] === platform)
          .toSorted(([, a], [, b]) => a.length - b.length)[0] ?? [];
      own?.push(fault);
    }
  }

  const faults = [...byChannel].flatMap(([channel, own]) => inTurn(wishes, channel, own));
  const bare = [
    ...faults.flatMap(({ fault, channel, atMs }) =>
      [0, ...(losing.has(fault) ? othersMs : [])].map((afterMs) => ({
        channel,
        dueMs: atMs + leadMs + afterMs,
        // Posts that are created later belong to the restores at the end.
        latestMs: windowMs,
      })),
    ),
    ...restores.flatMap(({ backupAtMs, atMs, forMs }) =>
      [(backupAtMs ?? atMs) + 1500, atMs + forMs + 6000].map((dueMs) => ({
        channel: firstChannel,
        dueMs,
        latestMs: Infinity,
      })),
    ),
  ];
  return {
    channels: platforms.map((platform) => ({
      platform,
      revokedAtMs: null,
      isFrail: false,
      isBlind: false,
      isTried: true,
    })),
    faults: faults.map((fault, index) => Object.assign(fault, { id: `${run}-t${index + 1}` })),
    posts: bare.map(({ channel, dueMs, latestMs }, index): PostPlan => {
      const { needsVideo } = factsOf(byTurns(platforms, channel - firstChannel));
      return {
        marker: `${run}-g${String(index + 1).padStart(4, '0')}`,
        parts: 1,
        channels: [channel],
        createMs: Math.min(latestMs, Math.max(0, dueMs - 5000)),
        dueMs,
        steps: [],
        files: needsVideo ? [{ name: 'video', part: 1 }] : [],
        faults: [],
      };
    }),
  };
}

/** At even intervals, in random order. */
function inTurn(
  { random, windowMs }: Wishes,
  channel: number,
  own: readonly RefreshFault[],
): Omit<PlannedRefreshFault, 'id'>[] {
  const stepMs = (windowMs - lastBeforeEndMs - firstMs) / own.length;
  const shift = random.below(Math.max(1, own.length));
  return own.map((_, index) => ({
    fault: own[(index + shift) % own.length] ?? 'refresh limited',
    channel,
    atMs: firstMs + (index + 0.7 * random.next()) * stepMs,
  }));
}
