import { channelErrorCodes } from '../../domain/channel-error.ts';
import { channelStatuses, postStatuses } from '../../domain/post-status.ts';
import type { VideoOptions } from '../../domain/post-view.ts';
import { dateTime, nullable, record, text, uuid } from '../http/shared-schemas.ts';
import { bodyTruncated } from './cut-texts.ts';

const count = { type: 'integer', minimum: 0 };

const videoFields = {
  title: { type: 'string', maxLength: 100 },
  privacy: { type: 'string', enum: ['public', 'unlisted', 'private'] },
  made_for_kids: { type: 'boolean' },
};

export const channelResultSchema = record({
  channel_id: uuid,
  status: { type: 'string', enum: [...channelStatuses] },
  platform: text,
  handle: text,
  url: { ...nullable(text), description: 'The live URL of the published post.' },
  error: nullable(text),
  error_code: { type: ['string', 'null'], enum: [...channelErrorCodes, null] },
  warning: nullable(text),
  retry_at: { ...nullable(dateTime), description: 'When the automatic retry is due.' },
  body: nullable(text),
  metrics: { type: ['object', 'null'], additionalProperties: { type: 'number' } },
});

export const postSchema = record({
  id: uuid,
  status: { type: 'string', enum: [...postStatuses] },
  body: nullable(text),
  thread: { type: ['array', 'null'], items: text },
  scheduled_at: nullable(dateTime),
  published_at: { ...nullable(dateTime), description: 'When the first channel published it.' },
  created_at: dateTime,
  updated_at: dateTime,
  channels: { type: 'array', items: channelResultSchema },
  summary: record({ published: count, failed: count, pending: count }),
  media: { type: 'array', items: record({ url: text, type: text }) },
  video: { type: ['object', 'null'], additionalProperties: false, properties: videoFields },
  warning: nullable(text),
});

export const postSummarySchema = record({
  id: uuid,
  body: nullable(text),
  thread: { type: ['array', 'null'], items: text },
  body_truncated: bodyTruncated,
  scheduled_at: nullable(dateTime),
  published_at: nullable(dateTime),
  created_at: dateTime,
  status: { type: 'string', enum: [...postStatuses] },
  post_targets: {
    type: 'array',
    items: record({
      channel_id: uuid,
      status: { type: 'string', enum: [...channelStatuses] },
    }),
  },
});

const length = { type: ['integer', 'null'], minimum: 0 };
const measure = record({ length: count, limit: count, unit: text });

export const validatedChannelSchema = record({
  channel_id: uuid,
  platform: text,
  handle: text,
  errors: { type: 'array', items: text, description: 'What holds it back from being scheduled.' },
  warnings: { type: 'array', items: text },
  length: {
    ...length,
    description: 'Of the text that is nearest to its limit; null without text.',
  },
  limit: length,
  unit: { ...nullable(text), description: 'What is counted, such as characters or bytes.' },
  texts: { type: 'array', items: measure, description: 'Each text that the channel gets.' },
});

/** In characters: twice what any network takes. A text is judged for each channel, and that takes its length. */
export const longestText = 50_000;

/** In characters, of all texts of a post together. Each is judged for each channel that gets it. */
export const longestTexts = 300_000;

const postText = { type: 'string', maxLength: longestText };

/** Ids and texts are judged by the use case, which has a code of its own for each of them. */
const postFields = {
  body: { ...postText, description: 'Text of a single post.' },
  thread: {
    type: 'array',
    items: postText,
    minItems: 1,
    maxItems: 25,
    description:
      'Posts of a thread, in order. Takes precedence over `body`. All texts of a post, those of channels too, have 300,000 characters at most.',
  },
  channel_ids: { type: 'array', items: text, maxItems: 100 },
  channel_bodies: {
    type: 'object',
    additionalProperties: postText,
    maxProperties: 100,
    description: 'By channel id: the text for that channel instead; a single post.',
  },
  scheduled_at: {
    type: ['string', 'null'],
    description: 'RFC 3339 with Z or an offset. Omitted or null saves a draft.',
  },
  schedule_in_minutes: {
    type: 'number',
    description: 'Publish this many minutes from now; wins over `scheduled_at`.',
  },
  media_ids: {
    type: 'array',
    items: text,
    maxItems: 100,
    description: 'Files of the media library, in order. A thread has them on its first post.',
  },
  media_urls: {
    type: 'array',
    items: text,
    maxItems: 10,
    description:
      'Public https links to images or a video of at most 200 MB each; attached after `media_ids`.',
  },
  video: {
    type: 'object',
    additionalProperties: false,
    properties: videoFields,
    description: 'For the video network; `made_for_kids` is required to schedule to it.',
  },
};

const orNull = <T extends { readonly type: string }>(schema: T) => ({
  ...schema,
  type: [schema.type, 'null'],
});

export const createPostSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...postFields,
    idempotency_key: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'Same as the Idempotency-Key header.',
    },
  },
};

export const validatePostSchema = {
  type: 'object',
  additionalProperties: false,
  properties: postFields,
};

/** Only the fields that are sent change. Null clears a field. */
export const editPostSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...postFields,
    thread: orNull(postFields.thread),
    channel_bodies: orNull(postFields.channel_bodies),
    media_ids: orNull(postFields.media_ids),
    video: orNull(postFields.video),
    scheduled_at: {
      type: ['string', 'null'],
      description: 'RFC 3339 with Z or an offset. Null turns the post into a draft.',
    },
  },
};

export type ValidatePostBody = {
  readonly body?: string;
  readonly thread?: readonly string[];
  readonly channel_ids?: readonly string[];
  readonly channel_bodies?: Readonly<Record<string, string>>;
  readonly scheduled_at?: string | null;
  readonly schedule_in_minutes?: number;
  readonly media_ids?: readonly string[];
  readonly media_urls?: readonly string[];
  readonly video?: VideoOptions;
};

export type CreatePostBody = ValidatePostBody & { readonly idempotency_key?: string };

type Clearable = 'thread' | 'channel_bodies' | 'media_ids' | 'video';

export type EditPostBody = Omit<ValidatePostBody, Clearable> & {
  readonly [Field in Clearable]?: ValidatePostBody[Field] | null;
};
