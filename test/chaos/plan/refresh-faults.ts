import type { Random } from '../../support/simulation/random.ts';
import { refreshFaults, type RefreshFault } from './faults.ts';
import type { SandboxPlatform } from './platforms.ts';
import type { ChannelPlan, Outage, PlannedRefreshFault, PostPlan } from './post-plan.ts';

// Channels whose refreshes meet faults, with posts of their own: whatever they lose takes no other fault's chance.

type Wishes = {
  readonly random: Random;
  readonly isLong: boolean;
  /** How often each fault is to come about. */
  readonly quota: number;
  /** The same of the one that kills a worker. */
  readonly deaths: number;
  readonly windowMs: number;
  readonly restores: readonly Outage[];
  /** The number of the first of these channels. */
  readonly firstChannel: number;
  /** What all markers of the run begin with. */
  readonly run: string;
};

type Planned = {
  readonly channels: readonly ChannelPlan[];
  readonly faults: readonly PlannedRefreshFault[];
  readonly posts: readonly PostPlan[];
};

/** Of those that take a refresh token once, and of those that take it again and again. */
const rotating: readonly SandboxPlatform[] = ['x', 'bluesky'];
const fixed: readonly SandboxPlatform[] = ['linkedin', 'youtube'];

/** After a restore at the beginning, and with time to get over it at the end; in milliseconds. */
const [firstMs, lastBeforeEndMs] = [30_000, 12_000];

/** In milliseconds: a post is due so long after its fault was set. */
const leadMs = 1000;

/**
 * After these a grant with single-use refresh tokens is over. So long before and after the post that meets it others are
 * due, in milliseconds: one whose access token may still last, one that may go out with it, and one that must hear of it.
 */
const othersMs = [-6000, 7000, 40_000];
const losing: ReadonlySet<RefreshFault> = new Set([
  'refresh answer lost',
  'grant revoked',
  'killed after a refresh',
]);

/**
 * Each fault as often as `quota` says, in turns on networks with single-use refresh tokens and on others, one after the
 * other on each channel. Each has a post whose try meets it. Where a restore takes new tokens away, a post has them
 * bought, and another one finds that they are lost.
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
        // What is created later belongs to the restores at the end.
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
      const isVideo = platforms[channel - firstChannel] === 'youtube';
      return {
        marker: `${run}-g${String(index + 1).padStart(4, '0')}`,
        parts: 1,
        channels: [channel],
        createMs: Math.min(latestMs, Math.max(0, dueMs - 5000)),
        dueMs,
        steps: [],
        files: isVideo ? [{ name: 'video', part: 1 }] : [],
        faults: [],
      };
    }),
  };
}

/** At even distances, in an order by chance. */
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
