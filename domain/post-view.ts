import { channelErrorCodes, channelErrors, errorCodesDescription } from './channel-error.ts';
import {
  anyFields,
  count,
  dateTime,
  fields,
  flag,
  listOf,
  mapOf,
  nullable,
  oneOf,
  onlyFields,
  orNull,
  record,
  text,
  uuid,
  type Value,
} from './json-schema.ts';
import { postWarning, warningsOf, type PostWarning } from './warnings.ts';
import { eachOnce, filesOfParts, textsForChannel } from './parts.ts';
import {
  endedOutcomes,
  isFinal,
  outcomeOf,
  postStatuses,
  shownChannelStatuses,
  summarize,
  unpublishStatuses,
} from './statuses.ts';

export const postStatus = {
  ...oneOf(postStatuses),
  description:
    '`draft`: it has no time; a cancelled post is also a draft. `scheduled`: it waits for its time. `publishing`: some of its channels have not ended yet. `published`: it went out on every channel. `failed`: every channel has ended, and some are `failed` or `unconfirmed`; if `summary.published` is not 0, it went out on the others.',
};
export const postOutcome = {
  ...nullable(oneOf(endedOutcomes)),
  description:
    'How the post ended: `published` on every channel, `partial` on some, `failed` on none. `unconfirmed`: a channel is `unconfirmed`. Null until it has ended.',
};
export const channelStatus = {
  ...oneOf(shownChannelStatuses),
  description:
    '`draft`: the post is a draft. `scheduled`: publishing has not begun. `publishing`: it is being sent, or its files are being uploaded. `retrying`: the next attempt is at `retry_at`. `published`: it went out. `failed`: it did not go out, or not all parts of its thread did; `error` says why. `unconfirmed`: the network may or may not have the post, and nothing is sent again automatically. Look at the account, then report the outcome with `POST /posts/{id}/settle`. `removed`: it was published, and `POST /posts/{id}/unpublish` removed it; `url` and the last metrics stay as history.',
};

const videoOptions = {
  title: { ...text, maxLength: 100 },
  privacy: oneOf(['public', 'unlisted', 'private']),
  made_for_kids: flag,
};
export const videoFields = fields(videoOptions);
export type VideoOptions = Value<typeof videoFields>;

export const postFile = record({
  id: uuid,
  media_id: { ...uuid, description: 'The same as `id`, named as in requests.' },
  url: { ...text, description: 'Opens in a browser, without an API key.' },
  type: { ...text, description: 'MIME type.' },
  alt_text: {
    ...nullable(text),
    description: "The alt text for this post, else the file's own; null if there is none.",
  },
});
type PostFile = Value<typeof postFile>;

const unpublishSchema = record({
  status: {
    ...oneOf(unpublishStatuses),
    description:
      '`pending`: it is being removed; `error` says why the last attempt failed. `removed`: it is gone. `not_found`: the network says that it does not exist, so it was gone before, or an answer was lost. `unsupported`: this service cannot remove it. `failed`: it may still be live; `error` says why.',
  },
  requested_at: dateTime,
  error: { ...nullable(text), description: 'The problem and the next step, for people.' },
  error_code: {
    ...nullable(oneOf(channelErrorCodes)),
    description: 'The problem, with the codes of `error_code` of the channel.',
  },
});
/** The last request to remove a post from a channel, as it is stored. */
export type Unpublish = Value<typeof unpublishSchema>;

/** Whether a channel is left out of retries, because its owner removed its live parts. */
export const isWithheld = (unpublish: Unpublish | null | undefined): boolean =>
  ['pending', 'removed', 'not_found'].includes(unpublish?.status ?? '');

export const channelResultSchema = record({
  channel_id: uuid,
  status: channelStatus,
  platform: text,
  handle: text,
  url: { ...nullable(text), description: 'The URL of the post, or of its first live part.' },
  error: {
    ...nullable(text),
    description:
      'The problem and the next step, as a sentence for people; null when nothing failed.',
  },
  error_code: { ...nullable(oneOf(channelErrorCodes)), description: errorCodesDescription },
  retryable: {
    ...nullable(flag),
    description:
      'Whether `POST /posts/{id}/retry` can succeed without another step. False: something has to change first, as `error_code` says, and the change does not make it true. Null without an `error_code`.',
  },
  warning: {
    ...nullable(text),
    description:
      'Something possibly unwanted: a part that may look different, a part that is already live, or another post, named by its id, with the same text on this channel within 24 hours.',
  },
  retry_at: { ...nullable(dateTime), description: 'When the automatic retry is due.' },
  body: { ...nullable(text), description: 'The text there; of a thread, its first part.' },
  metrics: {
    ...nullable(mapOf({ type: 'number' })),
    description:
      'The latest figures from the network. A figure that the network does not report is absent; null before the first read.',
  },
  metrics_updated_at: { ...nullable(dateTime), description: 'When `metrics` were read.' },
  gone_at: {
    ...nullable(dateTime),
    description:
      'When the network first reported that the post no longer exists. Its last metrics stay.',
  },
  unpublish: {
    ...orNull(unpublishSchema),
    description: 'The last call of `POST /posts/{id}/unpublish` for the channel; null without one.',
  },
  options: {
    ...anyFields,
    description:
      "The post's options, merged over those defaults of the channel that `video` does not set. `GET /networks` has their schema.",
  },
});
export type ChannelResult = Value<typeof channelResultSchema>;

export const labelFields = {
  tags: { ...listOf(text), description: 'The tags, in their order.' },
  metadata: { ...mapOf(text), description: 'Your own data, as sent.' },
  external_id: { ...nullable(text), description: 'The id of the post in your system.' },
};

/** A post as API responses and events show it. */
export const postSchema = record({
  id: uuid,
  status: postStatus,
  outcome: postOutcome,
  body: nullable(text),
  thread: nullable(listOf(text)),
  scheduled_at: nullable(dateTime),
  timezone: {
    ...nullable(text),
    description: 'The time zone in which to show its time, as an IANA name. Times are in UTC.',
  },
  published_at: { ...nullable(dateTime), description: 'When the first channel published it.' },
  created_at: dateTime,
  updated_at: dateTime,
  channels: listOf(channelResultSchema),
  summary: {
    ...record({
      published: { ...count, description: 'Channels that are `published` or `removed`.' },
      failed: { ...count, description: 'Channels that are `failed` or `unconfirmed`.' },
      pending: { ...count, description: 'All other channels: they have not ended.' },
      removed: {
        ...count,
        description:
          'Channels that are `removed`. If it equals `published`, nothing of the post is live by this service.',
      },
    }),
    description:
      'How many channels have each outcome. An `unconfirmed` channel counts as failed, although its post may be live. `published` includes the channels whose post was removed since, which `removed` counts.',
  },
  media: {
    ...listOf(postFile),
    description: 'Its files, including those of all parts of a thread.',
  },
  channel_media: {
    ...mapOf(listOf(postFile)),
    description: 'By channel id: the files of channels that have their own instead of these.',
  },
  thread_media: {
    ...nullable(listOf(listOf(postFile))),
    description: 'The files of each part of the thread; null without a thread.',
  },
  // A schema of its own: requests refuse unknown fields, answers may get new ones.
  video: nullable(fields({ ...videoOptions })),
  warning: nullable(text),
  warnings: {
    ...listOf(postWarning),
    description:
      'The warnings about the post, up to 100, and its channels, up to 20 each; the last says that there are more. `warning` of each has them as sentences.',
  },
  ...labelFields,
});
export type PostView = Value<typeof postSchema>;

type FileFacts = Omit<PostFile, 'media_id'> & { readonly part: number };

/** A post as read from its rows. Fields that need no conversion keep their names. */
export type PostFacts = Pick<
  PostView,
  'id' | 'status' | 'body' | 'thread' | 'timezone' | 'video' | 'warning' | keyof typeof labelFields
> & {
  /** Null for a row without a list. */
  readonly warnings: readonly PostWarning[] | null;
  readonly media: readonly FileFacts[];
  readonly scheduled_at: Date | null;
  readonly published_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
};

export type ChannelFacts = Omit<
  ChannelResult,
  'retryable' | 'retry_at' | 'metrics_updated_at' | 'gone_at'
> & {
  readonly warnings: readonly PostWarning[] | null;
  readonly retry_at: Date | string | null;
  readonly metrics_updated_at: Date | string | null;
  readonly gone_at: Date | string | null;
  /** Whether its network supports threads. */
  readonly threads: boolean;
  /** The published text; null before. */
  readonly sent_text: string | null;
  /** The network's warning about the published post; null before. */
  readonly sent_warning: string | null;
  /** The live parts of a channel that is not published, with the URL of the first; null when there are none. */
  readonly live: { readonly parts: number; readonly url: string | null } | null;
  /** Its files instead of the post's; null for none of its own. */
  readonly media: readonly FileFacts[] | null;
};

const asPost = onlyFields(postSchema);
const asChannel = onlyFields(channelResultSchema);
const asFile = onlyFields(postFile);

export function viewPost(post: PostFacts, channels: readonly ChannelFacts[]): PostView {
  const statuses = channels.map(({ status }) => status);
  return asPost({
    ...post,
    media: eachOnce(post.media).map(viewFile),
    channel_media: Object.fromEntries(
      channels.flatMap(({ channel_id: id, media }) => (media ? [[id, media.map(viewFile)]] : [])),
    ),
    thread_media:
      post.thread &&
      filesOfParts(post.media, post.thread.length).map((files) => files.map(viewFile)),
    scheduled_at: iso(post.scheduled_at),
    published_at: iso(post.published_at),
    created_at: post.created_at.toISOString(),
    updated_at: post.updated_at.toISOString(),
    channels: channels.map((channel) => viewChannel(post, channel)),
    warnings: [
      ...warningsOf(post.warning, post.warnings),
      ...channels.flatMap((channel) =>
        [
          ...warningsOf(channel.warning, channel.warnings),
          ...warningsOf(channel.sent_warning, null),
          ...warningsOf(isOut(post, channel), null),
        ].map((warning) => Object.assign({}, warning, { channel_id: channel.channel_id })),
      ),
    ],
    outcome: outcomeOf(post.status, statuses),
    summary: summarize(statuses),
  });
}

const viewFile = (file: FileFacts): PostFile => asFile({ ...file, media_id: file.id });

function viewChannel(post: PostFacts, channel: ChannelFacts): ChannelResult {
  const { live, error_code: code, status, unpublish } = channel;
  const [first = null] = textsForChannel(post, channel.body, channel.threads);
  const warnings = [channel.warning, channel.sent_warning, isOut(post, channel)];
  return asChannel({
    ...channel,
    url: channel.url ?? live?.url ?? null,
    warning: warnings.filter(Boolean).join(' ') || null,
    retryable: code && channelErrors[code].retryable && isFinal(status) && !isWithheld(unpublish),
    retry_at: iso(channel.retry_at),
    metrics_updated_at: iso(channel.metrics_updated_at),
    gone_at: iso(channel.gone_at),
    body: channel.sent_text ?? first,
  });
}

/** Says which parts of a post that is not published are public. The error of a `processing` post says it already. */
function isOut(post: PostFacts, { live, error_code: code, body, threads }: ChannelFacts) {
  if (!live || code === 'processing') {
    return null;
  }

  const [parts, where] = [live.parts, live.url ?? 'an unknown address'];
  const all = Math.max(textsForChannel(post, body, threads).length, parts);
  if (!threads || all < 2) {
    return `${parts > 1 ? 'The post and its first comment are' : 'The post is'} live: ${where}.`;
  }

  return `${parts} of ${all} parts of the thread ${parts === 1 ? 'is' : 'are'} live, from ${where} on.`;
}

/** @param at Within JSON, PostgreSQL writes a time as a text. */
const iso = (at: Date | string | null): string | null => at && new Date(at).toISOString();
