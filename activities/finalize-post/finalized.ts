import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { endedOutcome, type ChannelStatus, type EndedOutcome } from '../../domain/post-status.ts';
import type { PostView } from '../../domain/post-view.ts';

export type FinalizeRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The highest revision that the workflow received. Later revisions are ignored. */
  readonly revision: number;
  /** Whether a cancel stopped it. Channels that are not final then become drafts instead of failures. */
  readonly canceled: boolean;
  /** The post's revision at the workflow's claim. Older workflows omit it. */
  readonly claimed?: number;
  /** Ids of the rows of channels that the workflow published. Older workflows omit it. */
  readonly published?: readonly string[];
};

export type Finalized = {
  /** `publishing`: a signal since the claim was wrong, and publishing continues. */
  readonly status: 'published' | 'failed' | 'draft' | 'gone' | 'publishing';
  /** Deliveries of final events to start. */
  readonly deliveryIds: readonly string[];
  /** Set if a channel of a cancelled post has to finish: the workflow claims the post again. */
  readonly unfinished?: true;
  /** How a published or failed post ended. Missing in older histories. */
  readonly outcome?: EndedOutcome;
  /** Result of each channel, for the Temporal UI; missing if this publishing was not the last. */
  readonly channels?: readonly ChannelEnd[];
};

export type ChannelEnd = {
  readonly channelId: string;
  readonly network: string;
  readonly status: ChannelStatus;
  readonly code: ChannelErrorCode | null;
};

/**
 * Whether the post was scheduled for another time or is published again, so this finalize must not end it. A cancel
 * covers every revision that the workflow received.
 */
export const isSuperseded = (
  { status, revision }: { readonly status: string; readonly revision: number },
  { canceled, revision: signalled, claimed }: FinalizeRequest,
): boolean =>
  (status === 'scheduled' && (!canceled || revision > signalled)) ||
  (status === 'publishing' && revision > (canceled ? signalled : (claimed ?? signalled)));

export const channelEndsOf = ({ channels }: PostView): ChannelEnd[] =>
  channels.map(({ channel_id: channelId, platform: network, status, error_code: code }) => {
    return { channelId, network, status, code };
  });

/** How a post ended, as returned to its workflow. */
export const endOfPost = (view: PostView): Required<Pick<Finalized, 'outcome' | 'channels'>> => {
  const channels = channelEndsOf(view);
  return { outcome: endedOutcome(channels.map(({ status }) => status)), channels };
};
