import type { EventType } from '../../domain/post-status.ts';
import { mastodonChannel } from '../channels/examples.ts';
import { record, text, uuid } from '../../domain/json-schema.ts';
import { failedPost, partialPost, publishedPost } from '../posts/examples.ts';
import { postAnswer } from '../posts/schemas.ts';

type EventSpec = {
  readonly operationId: string;
  readonly when: string;
  /** Of the event's `data`. */
  readonly schema: object;
  readonly example: object;
};

/** What the document says of each event. */
export const sentEvents: Readonly<Record<EventType, EventSpec>> = {
  'post.published': {
    operationId: 'receivePostPublished',
    when: 'The post went out on every channel',
    schema: postAnswer,
    example: { post: publishedPost },
  },
  'post.partial': {
    operationId: 'receivePostPartial',
    when: 'The post went out on some channels and failed on others, and retrying has stopped',
    schema: postAnswer,
    example: { post: partialPost },
  },
  'post.failed': {
    operationId: 'receivePostFailed',
    when: 'The post failed on every channel, and retrying has stopped',
    schema: postAnswer,
    example: { post: failedPost },
  },
  'channel.needs_reconnect': {
    operationId: 'receiveChannelNeedsReconnect',
    when: "A channel's access was revoked or has expired",
    schema: record({ channel: record({ id: uuid, platform: text, handle: text, error: text }) }),
    example: {
      channel: {
        id: mastodonChannel.id,
        platform: mastodonChannel.platform,
        handle: mastodonChannel.handle,
        error: 'The access token was revoked.',
      },
    },
  },
  'webhook.test': {
    operationId: 'receiveWebhookTest',
    when: 'Somebody called `POST /webhooks/{id}/test` for this endpoint',
    schema: record({ webhook: record({ id: uuid, url: text }) }),
    example: {
      webhook: { id: '0192f0b3-6c2d-7f18-a4b7-9e0d3a5c8f21', url: 'https://example.com/punctual' },
    },
  },
};
