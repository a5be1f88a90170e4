import { channelErrorCodes } from '../../domain/channel-error.ts';
import { channelStatuses, postStatuses } from '../../domain/post-status.ts';
import { dateTime, nullable, record, text, uuid } from '../http/shared-schemas.ts';

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

/** Ids and texts are judged by the use case, which has a code of its own for each of them. */
export const createPostSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    body: { type: 'string', description: 'Text of a single post.' },
    thread: {
      type: 'array',
      items: text,
      minItems: 1,
      maxItems: 25,
      description: 'Posts of a thread, in order. Takes precedence over `body`.',
    },
    channel_ids: { type: 'array', items: text, maxItems: 100 },
    channel_bodies: {
      type: 'object',
      additionalProperties: text,
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
    media_ids: { type: 'array', items: text },
    media_urls: { type: 'array', items: text, maxItems: 10 },
    video: { type: 'object', additionalProperties: false, properties: videoFields },
    idempotency_key: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'Same as the Idempotency-Key header.',
    },
  },
};

export type CreatePostBody = {
  readonly body?: string;
  readonly thread?: readonly string[];
  readonly channel_ids?: readonly string[];
  readonly channel_bodies?: Readonly<Record<string, string>>;
  readonly scheduled_at?: string | null;
  readonly schedule_in_minutes?: number;
  readonly media_ids?: readonly string[];
  readonly media_urls?: readonly string[];
  readonly video?: {
    readonly title?: string;
    readonly privacy?: 'public' | 'unlisted' | 'private';
    readonly made_for_kids?: boolean;
  };
  readonly idempotency_key?: string;
};
