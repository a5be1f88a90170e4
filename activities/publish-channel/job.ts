import type { Entry } from '../../db/ledger/entries.ts';
import type { NetworkLimit } from '../../db/network-limits.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { publishWindowMs } from '../../domain/next-try.ts';
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

/** All that a try needs to know of its post and its channel, read afresh at each try. */
export type PublishJob = PublishRequest & {
  readonly channelId: string;
  readonly platform: string;
  /** Of the channel's server. */
  readonly baseUrl: string;
  /** Its owner disconnected the account: there are no credentials, and nothing is asked of the network. */
  readonly isDisconnected: boolean;
  /** It was believed to have lost its access when the try began. */
  readonly isLost: boolean;
  readonly run: number;
  /** Whether the post was publishing when its texts and files were read: before that they may still be edited. */
  readonly isPublishing: boolean;
  /**
   * The post was cancelled while this channel was being sent, and part of it is on the network or may be: that is looked
   * for, and the rest of a thread sent.
   */
  readonly isFinishing: boolean;
  /** The network has all parts: what is left is to see whether they can be seen. */
  readonly isTaken: boolean;
  /** A part is on the network or may be. */
  readonly hasBegun: boolean;
  /** A part may be on the network, and nobody knows. */
  readonly isInDoubt: boolean;
  /** Of the post at that moment. */
  readonly revision: number;
  /** How often this channel was tried in this run, waits imposed by rate limits not counted. */
  readonly tries: number;
  /** From when the channel has a day: the post's time, or that of the last retry; of a cancelled post its first send. */
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** What goes out, in order; one text for a single post. */
  readonly texts: readonly string[];
  /** The files of each text. */
  readonly media: readonly (readonly PartMedia[])[];
  /** The post's for this channel, over the channel's defaults. */
  readonly options: Options;
  /** The files that they name, by the option's name. */
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
  /** What the channel is opened with. */
  readonly account: SealedAccount;
  /** The rate limit that lasts longest; it may be over. */
  readonly limit: NetworkLimit | null;
  /** The channel's server, at which the try has a slot or waits for one. */
  readonly server: ServerSlot;
  /** When the try has started already: the ledger as it was then. */
  readonly startedWith: readonly Entry[] | null;
};

/** Of a try at the server of its channel. */
export type ServerSlot = {
  /** Held for this try; null when there was none. */
  readonly slot: number | null;
  /** How many tries in a row the server did not answer. */
  readonly failures: number;
  readonly isPaused: boolean;
  readonly pausedForMs: number;
  readonly newestForMs: number;
};

/** When the channel's day ends, in milliseconds since 1970: nothing is sent to it after that. */
export const dayEndMs = ({ dueAt }: PublishJob): number => dueAt.getTime() + publishWindowMs;

export const isDayOver = (deps: ActivityDeps, job: PublishJob): boolean =>
  deps.now().getTime() > dayEndMs(job);
