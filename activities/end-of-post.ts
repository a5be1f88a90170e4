import type { ChannelErrorCode } from '../domain/channel-error.ts';
import type { PostView } from '../domain/post-view.ts';
import { endedOutcome, type EndedOutcome, type ShownChannelStatus } from '../domain/statuses.ts';

/** How a post ended, for its workflow and the Temporal UI. */
export type EndOfPost = {
  readonly outcome: EndedOutcome;
  readonly channels: readonly {
    readonly channelId: string;
    readonly network: string;
    readonly handle: string;
    readonly status: ShownChannelStatus;
    readonly code: ChannelErrorCode | null;
  }[];
};

export const endOfPost = ({ channels }: PostView): EndOfPost => ({
  outcome: endedOutcome(channels.map(({ status }) => status)),
  channels: channels.map(
    ({ channel_id: channelId, platform: network, handle, status, error_code: code }) => {
      return { channelId, network, handle, status, code };
    },
  ),
});
