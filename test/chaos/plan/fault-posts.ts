import type { Random } from '../../support/simulation/random.ts';
import { singlePostFaults, type SinglePostFault } from './faults.ts';
import { platformsInTime, recoverySeconds } from './recovery.ts';
import { byTurns, platforms } from './platforms.ts';
import type {
  ChannelPlan,
  Outage,
  PlannedFault,
  PostPlan,
  ServerOutage,
  Step,
} from './post-plan.ts';

// Posts that are made for one fault each, in addition to the requested ones.

export type FaultPostsPlan = {
  readonly isLong: boolean;
  /** How often each fault is planned. */
  readonly quota: number;
  readonly windowMs: number;
  /** See `assignFaults`. */
  readonly firstDueMs: number;
  readonly channels: readonly ChannelPlan[];
  readonly outages: readonly Outage[];
  readonly serverOutages: readonly ServerOutage[];
  /** The prefix of all markers of the run. */
  readonly run: string;
};

type Bare = Omit<PostPlan, 'marker'>;

export function faultPosts(random: Random, wishes: FaultPostsPlan): PostPlan[] {
  const { quota, outages, serverOutages, run } = wishes;
  const restores = outages.filter(({ backupAtMs }) => backupAtMs !== null);
  const first = random.below(platforms.length);
  const bare = [
    ...singlePostFaults.flatMap((fault, kind) =>
      Array.from({ length: quota }, (_, index) =>
        cancelledPost(random, wishes, fault, first + kind + index),
      ),
    ),
    ...restores.flatMap((restore) =>
      changes.map((change) => restoredPost(random, wishes, restore, change)),
    ),
    ...restores.flatMap((restore) =>
      Array.from({ length: dueAtRestore(restore) }, () => duePost(random, wishes, restore)),
    ),
    ...serverOutages.flatMap((outage, index) =>
      Array.from({ length: sizeOf(outage, index) }, () => frailPost(random, wishes, outage)),
    ),
  ];
  return bare.map((post, index) => {
    const marker = `${run}-x${String(index + 1).padStart(4, '0')}`;
    const faults = post.faults.map((fault) => ({ ...fault, id: `${marker}-f1` }));
    return Object.assign(post, { marker, faults });
  });
}

const between = (random: Random, from: number, to: number): number =>
  from + random.next() * (to - from);

/** How long after the last due time the run has to end, in milliseconds. */
const tailMs = 75_000;

/** A post on one channel that is cancelled when its fault is applied. */
function cancelledPost(
  random: Random,
  { isLong, windowMs, firstDueMs, channels }: FaultPostsPlan,
  fault: SinglePostFault,
  turn: number,
): Bare {
  const isThread = fault === '429 after a cancel';
  const fitting = platformsInTime(fault, isLong);
  const platform = byTurns(fitting, turn);
  const parts = (isThread ? 2 : 1) + random.below(2);
  const latestMs = Math.max(
    firstDueMs + 5000,
    Math.min(windowMs, windowMs + tailMs - recoverySeconds(fault, platform) * 1000),
  );
  const dueMs = between(random, firstDueMs, latestMs);
  const planned: PlannedFault = {
    id: '',
    fault,
    platform,
    part: isThread ? 2 : parts,
    mayMiss: false,
  };
  return {
    parts,
    channels: [pickOf(random, channels, (each) => isShared(each) && each.platform === platform)],
    createMs: dueMs - between(random, 3000, 12_000),
    dueMs,
    steps: [],
    files: [],
    faults: [planned],
  };
}

/** How many posts are due about when the database is lost. */
const dueAtRestore = ({ runsOn }: Outage): number => (runsOn ? 12 : 3);

const changes = ['later', 'earlier', 'rewritten', 'cancelled'] as const;

/** A post without user steps that is due about when the database is lost, so that its result is unknown afterwards. */
function duePost(random: Random, { channels }: FaultPostsPlan, restore: Outage): Bare {
  const { atMs, forMs, backupAtMs, runsOn } = restore;
  const untilMs = atMs + (runsOn ? 5000 : forMs);
  const dueMs = between(random, (backupAtMs ?? atMs) - 1000, untilMs);
  return {
    parts: 1 + random.below(2),
    channels: [pickOf(random, channels, isShared)],
    createMs: Math.max(0, (backupAtMs ?? atMs) - between(random, 3000, 8000)),
    dueMs,
    steps: [],
    files: [],
    faults: [],
  };
}

/** A post that is changed after the backup. The restore loses the acknowledged change. */
function restoredPost(
  random: Random,
  { channels }: FaultPostsPlan,
  { atMs, forMs, backupAtMs }: Outage,
  change: (typeof changes)[number],
): Bare {
  const overMs = atMs + forMs;
  const dueMs = overMs + between(random, 14_000, 20_000);
  const stepMs = between(random, (backupAtMs ?? atMs) + 2500, atMs - 700);
  const newDueMs = dueMs + (change === 'later' ? 8000 : -5000);
  const step: Step =
    change === 'cancelled'
      ? { kind: 'cancel', atMs: stepMs }
      : { kind: 'move', atMs: stepMs, dueMs: newDueMs, rewrite: change === 'rewritten' };
  // Some users change it again once the service is back.
  const again: Step[] = random.chance(0.5)
    ? [{ kind: 'move', atMs: overMs + 6000, dueMs: dueMs + 4000, rewrite: true }]
    : [];
  return {
    parts: 1 + random.below(2),
    channels: [pickOf(random, channels, isShared)],
    createMs: Math.max(0, (backupAtMs ?? atMs) - between(random, 3000, 8000)),
    dueMs,
    steps: [step, ...again],
    files: [],
    faults: [],
  };
}

/**
 * The first server that hangs has more posts than it has slots; later ones have enough to show that other servers are
 * unaffected.
 */
const sizeOf = ({ what }: ServerOutage, index: number): number => {
  if (what === 'server hangs') {
    return index === 0 ? 16 : 3;
  }

  return 2;
};

/** A post that is due while its server has a fault. */
function frailPost(
  random: Random,
  { channels }: FaultPostsPlan,
  { platform, atMs }: ServerOutage,
): Bare {
  const dueMs = atMs + between(random, 500, 6000);
  return {
    parts: random.chance(0.2) ? 2 : 1,
    channels: [pickOf(random, channels, (each) => each.isFrail && each.platform === platform)],
    createMs: dueMs - between(random, 4000, 15_000),
    dueMs,
    steps: [],
    files: [],
    faults: [],
  };
}

const isShared = ({ revokedAtMs, isFrail }: ChannelPlan): boolean =>
  revokedAtMs === null && !isFrail;

function pickOf(
  random: Random,
  channels: readonly ChannelPlan[],
  isWanted: (channel: ChannelPlan) => boolean,
): number {
  return random.pick(channels.flatMap((channel, index) => (isWanted(channel) ? [index] : [])));
}
