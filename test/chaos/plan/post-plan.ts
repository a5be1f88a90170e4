import type { PostFault, RefreshFault, ServerFault, TrapFault } from './faults.ts';
import type { Platform } from './platforms.ts';

/** A channel of the run. Its number is its index in the list. */
export type ChannelPlan = {
  readonly platform: Platform;
  /** When its access is revoked, in milliseconds from the start of the run; null: never. */
  readonly revokedAtMs: number | null;
  /** Its account is on a server that hangs and breaks now and then. */
  readonly isFrail: boolean;
  /** Its access allows writing posts but not reading them, as for most apps on LinkedIn. */
  readonly isBlind: boolean;
  /** Its account is at a sandbox of its own, with planned faults of its refreshes. */
  readonly isTried: boolean;
};

/** A step of a post's user. Times are in milliseconds from the start of the run. */
export type Step =
  | {
      readonly kind: 'move';
      readonly atMs: number;
      readonly dueMs: number;
      /** Whether the texts change too. */
      readonly rewrite: boolean;
    }
  | { readonly kind: 'cancel'; readonly atMs: number }
  /** The last step: copies the post, and deletes it and the copy. */
  | { readonly kind: 'delete'; readonly atMs: number };

/** A fault of one post on one network. */
export type PlannedFault = {
  readonly id: string;
  readonly fault: PostFault;
  readonly platform: Platform;
  /** The part of the thread, from 1. */
  readonly part: number;
  /** The post may be cancelled before the fault is applied. */
  readonly mayMiss: boolean;
};

/** The files of a run, each uploaded once. */
export const fileNames = ['video', 'picture 1', 'picture 2', 'picture 3'] as const;
export type FileName = (typeof fileNames)[number];

/** A file of a post. */
export type PlannedFile = {
  readonly name: FileName;
  /** The part of the thread, from 1. */
  readonly part: number;
};

export type PostPlan = {
  /** Part of every text of the post, and of no other post in this run. */
  readonly marker: string;
  readonly parts: number;
  /** Numbers of channels. */
  readonly channels: readonly number[];
  readonly createMs: number;
  readonly dueMs: number;
  readonly steps: readonly Step[];
  /** Edits do not change them. */
  readonly files: readonly PlannedFile[];
  readonly faults: readonly PlannedFault[];
};

export type Outage = {
  readonly what: 'Temporal away' | 'PostgreSQL away' | 'PostgreSQL restored';
  readonly atMs: number;
  readonly forMs: number;
  /** Whether the server is killed and restarted; otherwise only the connection to it is cut. */
  readonly dies: boolean;
  /** When the backup is made that is restored; null: the server keeps its data. */
  readonly backupAtMs: number | null;
  /** For a restore: API and workers keep running, as in an automatic failover. */
  readonly runsOn: boolean;
};

/** A fault of all unreliable servers of this network. */
export type ServerOutage = {
  readonly what: ServerFault;
  readonly platform: Platform;
  readonly atMs: number;
  readonly forMs: number;
};

/** A fault of the next process that reaches its point, from `atMs` on. */
export type Trap = { readonly id: string; readonly fault: TrapFault; readonly atMs: number };

/** A fault of the channel's next refresh, from `atMs` on. */
export type PlannedRefreshFault = {
  readonly id: string;
  readonly fault: RefreshFault;
  /** The channel's number. */
  readonly channel: number;
  readonly atMs: number;
};

export type ChaosPlan = {
  /** Whether each fault is planned many times; otherwise it is planned as rarely as possible. */
  readonly isLong: boolean;
  /** The length of the period with due times. */
  readonly windowMs: number;
  readonly channels: readonly ChannelPlan[];
  readonly posts: readonly PostPlan[];
  readonly outages: readonly Outage[];
  readonly serverOutages: readonly ServerOutage[];
  readonly traps: readonly Trap[];
  readonly refreshFaults: readonly PlannedRefreshFault[];
};
