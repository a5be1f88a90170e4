import { channelErrorCodes, type ChannelErrorCode } from './channel-error.ts';
import {
  count,
  dateTime,
  fields,
  flag,
  listOf,
  mapOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from './json-schema.ts';
import {
  channelStatuses,
  postStatuses,
  summarize,
  type ChannelStatus,
  type PostStatus,
} from './post-status.ts';
import { textsForChannel } from './texts.ts';

export const videoFields = fields({
  title: { ...text, maxLength: 100 },
  privacy: oneOf(['public', 'unlisted', 'private']),
  made_for_kids: flag,
});
export type VideoOptions = Value<typeof videoFields>;

/** A post's file: a link that a browser opens, and its MIME type. */
const mediaLink = record({ url: text, type: text });
export type MediaLink = Value<typeof mediaLink>;

export const channelResultSchema = record({
  channel_id: uuid,
  status: oneOf(channelStatuses),
  platform: text,
  handle: text,
  url: { ...nullable(text), description: 'The live URL of the published post.' },
  error: nullable(text),
  error_code: nullable(oneOf(channelErrorCodes)),
  warning: nullable(text),
  retry_at: { ...nullable(dateTime), description: 'When the automatic retry is due.' },
  body: nullable(text),
  metrics: nullable(mapOf({ type: 'number' })),
});
export type ChannelResult = Value<typeof channelResultSchema>;

/** The specification's Post: what the API answers and what events carry, in one shape. */
export const postSchema = record({
  id: uuid,
  status: oneOf(postStatuses),
  body: nullable(text),
  thread: nullable(listOf(text)),
  scheduled_at: nullable(dateTime),
  published_at: { ...nullable(dateTime), description: 'When the first channel published it.' },
  created_at: dateTime,
  updated_at: dateTime,
  channels: listOf(channelResultSchema),
  summary: record({ published: count, failed: count, pending: count }),
  media: listOf(mediaLink),
  video: nullable(videoFields),
  warning: nullable(text),
});
export type PostView = Value<typeof postSchema>;

/** A post as its rows hold it. */
export type PostFacts = {
  readonly id: string;
  readonly status: PostStatus;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly scheduledAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly publishedAt: Date | null;
  readonly video: VideoOptions | null;
  readonly warning: string | null;
  /** In order. */
  readonly media: readonly MediaLink[];
};

/** A post's channel as its rows hold it. */
export type ChannelFacts = {
  readonly channelId: string;
  readonly status: ChannelStatus;
  readonly platform: string;
  /** Whether its network has threads. */
  readonly threads: boolean;
  readonly handle: string;
  readonly body: string | null;
  /** Once it was published. */
  readonly sentText: string | null;
  readonly url: string | null;
  readonly error: string | null;
  readonly errorCode: ChannelErrorCode | null;
  readonly warning: string | null;
  readonly retryAt: Date | null;
  readonly metrics: Readonly<Record<string, number>> | null;
  /** Parts of a thread that are on the network while the channel has not ended; null when none is. */
  readonly live: LiveParts | null;
};

export type LiveParts = {
  readonly parts: number;
  /** Of the first. */
  readonly url: string | null;
};

/** @param channels In the order in which they were given. */
export function viewPost(post: PostFacts, channels: readonly ChannelFacts[]): PostView {
  return {
    id: post.id,
    status: post.status,
    body: post.body,
    thread: post.thread,
    scheduled_at: iso(post.scheduledAt),
    published_at: iso(post.publishedAt),
    created_at: post.createdAt.toISOString(),
    updated_at: post.updatedAt.toISOString(),
    channels: channels.map((channel) => viewChannel(post, channel)),
    summary: summarize(channels.map(({ status }) => status)),
    media: post.media,
    video: post.video,
    warning: post.warning,
  };
}

function viewChannel(post: PostFacts, channel: ChannelFacts): ChannelResult {
  const { live } = channel;
  const texts = textsForChannel(post, channel.body, channel.threads);
  const warnings = [channel.warning, live && liveWarning(live, texts.length)];
  return {
    channel_id: channel.channelId,
    status: channel.status,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url ?? live?.url ?? null,
    error: channel.error,
    error_code: channel.errorCode,
    warning: warnings.filter(Boolean).join(' ') || null,
    retry_at: iso(channel.retryAt),
    body: channel.sentText ?? texts[0] ?? null,
    metrics: channel.metrics,
  };
}

/** What nobody could tell otherwise: a draft, or a post that waits, of which part is public. */
const liveWarning = ({ parts, url }: LiveParts, all: number): string =>
  `${parts} of ${Math.max(all, parts)} parts of the thread ${parts === 1 ? 'is' : 'are'} live, from ${url ?? 'an address that is not known'} on.`;

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;
