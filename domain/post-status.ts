export const postStatuses = ['draft', 'scheduled', 'publishing', 'published', 'failed'] as const;
export type PostStatus = (typeof postStatuses)[number];

/**
 * `retrying`: an automatic retry is due at `retry_at`. `unconfirmed`: the network may or may not have the post and
 * cannot tell, so the post is not sent again.
 */
export const channelStatuses = [
  'draft',
  'scheduled',
  'publishing',
  'retrying',
  'published',
  'failed',
  'unconfirmed',
] as const;
export type ChannelStatus = (typeof channelStatuses)[number];

export type Summary = {
  readonly published: number;
  readonly failed: number;
  readonly pending: number;
};

/** Counts a post's channels. An unconfirmed channel counts as failed; channels without a final status are pending. */
export function summarize(channels: readonly ChannelStatus[]): Summary {
  const published = channels.filter((status) => status === 'published').length;
  const failed = channels.filter((s) => s === 'failed' || s === 'unconfirmed').length;
  return { published, failed, pending: channels.length - published - failed };
}

/** Whether no automatic step will change this channel any more. */
export function isFinal(status: ChannelStatus): boolean {
  return status === 'published' || status === 'failed' || status === 'unconfirmed';
}

/** The status of a post whose publishing has begun. It always follows from the channels. */
export function statusOfBegunPost(channels: readonly ChannelStatus[]): PostStatus {
  const { failed, pending } = summarize(channels);
  if (pending > 0) {
    return 'publishing';
  }

  return failed > 0 ? 'failed' : 'published';
}

export const eventTypes = [
  'post.published',
  'post.partial',
  'post.failed',
  'channel.at_risk',
  'channel.needs_reconnect',
  'channel.disconnected',
  'webhook.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** The event that ends a post, from its channels' final statuses; null while a channel is not final. */
export function finalEventType(channels: readonly ChannelStatus[]): EventType | null {
  const { published, failed, pending } = summarize(channels);
  if (pending > 0 || channels.length === 0) {
    return null;
  }

  if (failed === 0) {
    return 'post.published';
  }

  return published > 0 ? 'post.partial' : 'post.failed';
}

export type EndedOutcome = 'published' | 'partial' | 'failed' | 'unconfirmed';

/**
 * The outcome of a post, for people who watch workflows. `unconfirmed` takes precedence, because a person has to check
 * the account first.
 */
export function endedOutcome(channels: readonly ChannelStatus[]): EndedOutcome {
  const { published, failed } = summarize(channels);
  if (channels.includes('unconfirmed')) {
    return 'unconfirmed';
  }

  if (failed === 0) {
    return 'published';
  }

  return published > 0 ? 'partial' : 'failed';
}
