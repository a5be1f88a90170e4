import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { endedOutcome, type ChannelStatus, type EndedOutcome } from '../../domain/post-status.ts';
import type { PostView } from '../../domain/post-view.ts';

export type FinalizeRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The highest revision that the workflow has heard of: what the row holds beyond it is not its business. */
  readonly revision: number;
  /** Whether a cancel stopped it: channels that are not final become drafts instead of failures. */
  readonly canceled: boolean;
  /** The post's revision when the workflow claimed what it ends now. Older workflows do not say. */
  readonly claimed?: number;
  /** Channels of the post of which the workflow knows that they have it, by their rows' ids. Older workflows do not say. */
  readonly published?: readonly string[];
};

export type Finalized = {
  /** `publishing`: what the workflow heard since its claim is not so, and the post is to go on. */
  readonly status: 'published' | 'failed' | 'draft' | 'gone' | 'publishing';
  /** Deliveries of final events that wait for their workflow. */
  readonly deliveryIds: readonly string[];
  /** A channel of a cancelled post is still to be finished: the post is to be claimed again. Left out when none is. */
  readonly unfinished?: true;
  /** How a published or failed post ended. Answers in older histories do not say. */
  readonly outcome?: EndedOutcome;
  /** What became of each, for people who look at the workflow; left out when this publishing was not the last. */
  readonly channels?: readonly ChannelEnd[];
};

export type ChannelEnd = {
  readonly channelId: string;
  readonly network: string;
  readonly status: ChannelStatus;
  readonly code: ChannelErrorCode | null;
};

/**
 * Whether the post waits for another time, or is published anew: then this is not its end. A cancel is for all that
 * the workflow has heard of.
 */
export const hasMovedOn = (
  { status, revision }: { readonly status: string; readonly revision: number },
  { canceled, revision: heard, claimed }: FinalizeRequest,
): boolean =>
  (status === 'scheduled' && (!canceled || revision > heard)) ||
  (status === 'publishing' && revision > (canceled ? heard : (claimed ?? heard)));

export const endsIn = ({ channels }: PostView): ChannelEnd[] =>
  channels.map(({ channel_id: channelId, platform: network, status, error_code: code }) => {
    return { channelId, network, status, code };
  });

/** The part of an answer to a workflow that says how a post has ended. */
export const endOfPost = (view: PostView): Required<Pick<Finalized, 'outcome' | 'channels'>> => {
  const channels = endsIn(view);
  return { outcome: endedOutcome(channels.map(({ status }) => status)), channels };
};
