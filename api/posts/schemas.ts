import {
  count,
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import {
  channelResultSchema,
  channelStatus,
  labelFields,
  postOutcome,
  postSchema,
  postStatus,
} from '../../domain/post-view.ts';
import { contentFault, postWarning } from '../../domain/warnings.ts';
import { replayedHeader } from '../http/idempotency.ts';
import { deletedAnswer, location, type Examples } from '../http/route.ts';

export const postAnswer = record({ post: postSchema });

/** The answers of a call that makes a post once for each idempotency key. */
export const createdPost = (description: string, examples: Examples) => ({
  201: { description, schema: postAnswer, headers: { Location: location }, examples },
  200: {
    description: 'The post that this idempotency key created before, in its current state.',
    schema: postAnswer,
    headers: replayedHeader,
  },
});

export const deletedPost = record({
  ...deletedAnswer.properties,
  live: {
    ...listOf(
      record({
        channel_id: uuid,
        platform: text,
        url: { ...nullable(text), description: 'Null if it is unknown.' },
        confirmed: { ...flag, description: 'False: the network may or may not have the post.' },
      }),
    ),
    description: 'The channels on which the post, or a part of its thread, stays live.',
  },
  post: { ...postSchema, description: 'The post before it was deleted.' },
});

export const cancelledPost = record({
  ...deletedAnswer.properties,
  still_sending: {
    ...count,
    description: 'How many channels are being sent or reconciled, and will finish.',
  },
  post: postSchema,
});

export const retriedPost = record({
  id: uuid,
  retrying: { ...listOf(uuid), description: 'Ids of those channels.' },
  post: postSchema,
});

export const bodyTruncated = {
  ...flag,
  description:
    'Whether `body`, or the texts of `thread` together, exceed 10,000 characters and are cut here. `GET /posts/{id}` has the full texts.',
};

export const postTarget = record({
  channel_id: uuid,
  status: channelStatus,
  platform: text,
  handle: text,
  url: { ...nullable(text), description: 'The URL of the published post.' },
  error_code: channelResultSchema.properties.error_code,
});

const { properties: ofPost } = postSchema;

const listItem = record({
  id: uuid,
  body: nullable(text),
  thread: nullable(listOf(text)),
  body_truncated: bodyTruncated,
  scheduled_at: nullable(dateTime),
  published_at: nullable(dateTime),
  created_at: dateTime,
  status: postStatus,
  outcome: postOutcome,
  tags: labelFields.tags,
  external_id: labelFields.external_id,
  post_targets: listOf(postTarget),
});

export const postListItemSchema = fields(
  {
    ...listItem.properties,
    channels: ofPost.channels,
    summary: ofPost.summary,
    media: ofPost.media,
    channel_media: ofPost.channel_media,
    thread_media: ofPost.thread_media,
    updated_at: ofPost.updated_at,
    timezone: ofPost.timezone,
    metadata: ofPost.metadata,
    video: ofPost.video,
    warning: ofPost.warning,
    warnings: ofPost.warnings,
  },
  Object.keys(listItem.properties) as (keyof typeof listItem.properties)[],
);

export const postListSchema = record({
  posts: listOf(postListItemSchema),
  next_cursor: { ...nullable(text), description: 'Null on the last page.' },
});

export const settleSchema = record({
  channel_id: { ...text, description: 'The channel that is unconfirmed.' },
  url: {
    ...nullable(text),
    description:
      'The http or https URL of the post, or of the thread’s part that was in doubt; null only if the post is not on the network.',
  },
});

const length = nullable(count);

export const validatedChannelSchema = record({
  channel_id: uuid,
  platform: text,
  handle: text,
  errors: {
    ...listOf(contentFault),
    description: 'Problems that keep the post from being scheduled, at most 100.',
  },
  warnings: {
    ...listOf(contentFault),
    description: 'Parts of the post that may look different from what was sent.',
  },
  price_usd: {
    ...nullable({ type: 'number' }),
    description:
      'The price that the network charges the app that publishes for this post, in US dollars, as the operator set it. Null while there are errors.',
  },
  length: {
    ...length,
    description: 'The length of the text that is closest to its limit; null without text.',
  },
  limit: { ...length, description: 'Its limit; null without text.' },
  unit: { ...nullable(text), description: 'The counted unit, such as characters or bytes.' },
  texts: {
    ...listOf(
      record({
        length: { ...count, description: 'The length of the text.' },
        limit: { ...count, description: 'The most that it may have.' },
        unit: { ...text, description: 'The counted unit.' },
      }),
    ),
    description: 'Every text of the channel.',
  },
});

export const validatedSchema = record({
  valid: { ...flag, description: 'Whether no channel has an error.' },
  warning: {
    ...nullable(text),
    description:
      'A warning about the request as a whole, which the post would have in its `warning`.',
  },
  warnings: {
    ...listOf(postWarning),
    description:
      'All warnings. The post would have the first 100 of them in its `warnings`, and 20 of each channel; the last says that there are more.',
  },
  scheduled_at: {
    ...nullable(dateTime),
    description: 'When the post would be due, in UTC; null for a draft.',
  },
  channels: listOf(validatedChannelSchema),
});

export const unpublishSchema = fields({
  channel_ids: {
    ...listOf({ ...text, maxLength: 100 }),
    minItems: 1,
    maxItems: 100,
    description: 'The channels to remove the post from. Absent: all of its channels.',
  },
});
