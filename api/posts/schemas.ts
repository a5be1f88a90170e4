import {
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { channelResultSchema, labelFields, postSchema } from '../../domain/post-view.ts';
import { channelStatus, postOutcome, postStatus } from '../../domain/status-schemas.ts';

export const postAnswer = record({ post: postSchema });

/** The field that reports a cut. */
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
