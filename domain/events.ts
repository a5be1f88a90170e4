import { summarize, type ChannelStatus } from './post-status.ts';

export const eventTypes = [
  'post.published',
  'post.partial',
  'post.failed',
  'channel.needs_reconnect',
  'webhook.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** The one event that ends a post, from its channels' final statuses; null while some channel is not final. */
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
