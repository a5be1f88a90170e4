import type { LedgerEntry } from '../../db/ledger/entries.ts';
import type { NetworkLimit } from '../../db/network-limits.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { publishWindowMs } from '../../domain/next-attempt.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { PartMedia } from '../../networks/network.ts';
import type { SealedAccount } from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

export type PublishRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

/** Everything an attempt needs of its post and channel. Each attempt reads it again. */
export type PublishJob = PublishRequest & {
  readonly channelId: string;
  readonly platform: string;
  /** URL of the channel's server. */
  readonly baseUrl: string;
  /** The account was disconnected: there are no credentials, and no requests are sent. */
  readonly isDisconnected: boolean;
  /** The channel was marked as `needs_reconnect` when the attempt began. */
  readonly isLost: boolean;
  readonly run: number;
  /** Whether the post was publishing when its texts and files were read. Before that they can still be edited. */
  readonly isPublishing: boolean;
  /**
   * The post was cancelled while this channel was being sent, and a part is or may be live. Open parts are reconciled,
   * and the rest of the thread is sent.
   */
  readonly isFinishing: boolean;
  /** The network has all parts; only polling is left. */
  readonly isAccepted: boolean;
  /** A part is or may be on the network. */
  readonly hasBegun: boolean;
  /** A part is open: it may be on the network. */
  readonly isInDoubt: boolean;
  /** The post's revision when the job was read. */
  readonly revision: number;
  /** Attempts on this channel in this run, without waits for rate limits. */
  readonly attempts: number;
  /** Start of the publish window: the post's time, or that of its last retry; for a cancelled post, its first send. */
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** Texts to publish, in order; one for a single post. */
  readonly texts: readonly string[];
  /** The files of each text. */
  readonly media: readonly (readonly PartMedia[])[];
  /** Options of the post for this channel, merged over the channel's defaults. */
  readonly options: Options;
  /** Files that the options refer to, by option. */
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
  readonly account: SealedAccount;
  /** The rate limit with the latest end, which may have passed. */
  readonly limit: NetworkLimit | null;
  /** The attempt's slot at the channel's server, and the state of that server. */
  readonly server: ServerSlot;
  /** The ledger at the start, if the attempt has already started. */
  readonly startedWith: readonly LedgerEntry[] | null;
};

export type ServerSlot = {
  /** Slot held for this attempt; null if none was free. */
  readonly slot: number | null;
  /** Consecutive attempts that the server did not answer. */
  readonly failures: number;
  readonly isPaused: boolean;
  readonly pausedForMs: number;
  readonly newestForMs: number;
};

/** End of the publish window, in milliseconds since 1970. Nothing is sent after it. */
export const publishWindowEndMs = ({ dueAt }: PublishJob): number =>
  dueAt.getTime() + publishWindowMs;

export const isPublishWindowOver = (deps: ActivityDeps, job: PublishJob): boolean =>
  deps.now().getTime() > publishWindowEndMs(job);
