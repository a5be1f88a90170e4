import type { PostFault, RefreshFault, ServerFault, TrapFault } from './faults.ts';
import type { Platform } from './platforms.ts';

/** A channel of the run: its number is its place in the list. */
export type ChannelPlan = {
  readonly platform: Platform;
  /** When its access is revoked, in milliseconds from the start of the run; null: never. */
  readonly revokedAtMs: number | null;
  /** Its account is on a server of its own, which hangs and breaks now and then. */
  readonly isFrail: boolean;
  /** Its access lets it write posts and see none, as most apps on LinkedIn have it. */
  readonly isBlind: boolean;
  /** Its account is at a sandbox of its own, and its refreshes meet faults. */
  readonly isTried: boolean;
};

/** What its user does to a post, in milliseconds from the start of the run. */
export type Step =
  | {
      readonly kind: 'move';
      readonly atMs: number;
      readonly dueMs: number;
      /** Whether the texts change too. */
      readonly rewrite: boolean;
    }
  | { readonly kind: 'cancel'; readonly atMs: number };

/** A fault of one post on one network. */
export type PlannedFault = {
  readonly id: string;
  readonly fault: PostFault;
  readonly platform: Platform;
  /** From 1: which part of the thread it befalls. */
  readonly part: number;
  /** The post may be cancelled before it comes to that. */
  readonly mayMiss: boolean;
};

/** The files of a run, each of which is uploaded once. */
export const fileNames = ['video', 'picture 1', 'picture 2', 'picture 3'] as const;
export type FileName = (typeof fileNames)[number];

/** Where a post has a file. */
export type PlannedFile = {
  readonly name: FileName;
  /** Of the thread, from 1. */
  readonly part: number;
};

export type PostPlan = {
  /** Stands in every text of the post, and in no other post of this run. */
  readonly marker: string;
  readonly parts: number;
  /** Numbers of channels. */
  readonly channels: readonly number[];
  readonly createMs: number;
  readonly dueMs: number;
  readonly steps: readonly Step[];
  /** The same whatever the texts become. */
  readonly files: readonly PlannedFile[];
  readonly faults: readonly PlannedFault[];
};

export type Outage = {
  readonly what: 'Temporal away' | 'PostgreSQL away' | 'PostgreSQL restored';
  readonly atMs: number;
  readonly forMs: number;
  /** The server dies and starts again; otherwise only the way to it is cut. */
  readonly dies: boolean;
  /** When the backup is made that takes its place afterwards; null: it keeps what it has. */
  readonly backupAtMs: number | null;
};

/** All frail servers of this network, for so long. */
export type ServerOutage = {
  readonly what: ServerFault;
  readonly platform: Platform;
  readonly atMs: number;
  readonly forMs: number;
};

/** From this time on, it befalls the next process that comes to this point. */
export type Trap = { readonly id: string; readonly fault: TrapFault; readonly atMs: number };

/** From this time on, it befalls the next refresh of this channel. */
export type PlannedRefreshFault = {
  readonly id: string;
  readonly fault: RefreshFault;
  /** Its number. */
  readonly channel: number;
  readonly atMs: number;
};

export type ChaosPlan = {
  /** Each fault comes about many times; otherwise as seldom as it can. */
  readonly isLong: boolean;
  /** Over which the posts' times are spread. */
  readonly windowMs: number;
  readonly channels: readonly ChannelPlan[];
  readonly posts: readonly PostPlan[];
  readonly outages: readonly Outage[];
  readonly serverOutages: readonly ServerOutage[];
  readonly traps: readonly Trap[];
  readonly refreshFaults: readonly PlannedRefreshFault[];
};
