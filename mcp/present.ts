import { cut } from '../domain/errors.ts';
import { localIn } from '../domain/time-zone.ts';
import type { Answer, Schemas } from '../sdk/src/index.ts';
import { mostRows } from './tool.ts';

/** In a row; `get_post` with `full` has the whole text. */
const mostText = 140;

/** Leaves out what has no value, so that answers stay short. */
export const filled = (given: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([, value]) =>
        value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );

type Post = Schemas['Post'] | Schemas['PostListItem'];

/** @param whole With all of its texts and files. */
export function presentPost(post: Post, whole = false): Record<string, unknown> {
  const { body, thread, timezone = null, channels = [], media = [], warnings = [] } = post;
  return filled({
    id: post.id,
    status: post.status,
    outcome: post.outcome,
    ...(whole ? { text: body, thread } : { text: shortText(post), parts: thread?.length }),
    scheduled_at: inZone(post.scheduled_at, timezone),
    timezone,
    published_at: inZone(post.published_at, timezone),
    ...firstRows(channels, (one) => ({
      ...presentResult(one),
      ...(whole && one.body !== (thread?.[0] ?? body) && { text: one.body }),
      ...(whole && { media: post.channel_media?.[one.channel_id]?.map(presentFile) }),
    })),
    media: whole ? media.map(presentFile) : [],
    tags: post.tags,
    external_id: post.external_id,
    warnings: warnings.slice(0, mostRows).map(({ message }) => message),
  });
}

const presentFile = ({ media_id: id, type, alt_text: alt }: Schemas['PostFile']) =>
  filled({ id, type, alt });

const shortText = ({ body, thread }: Pick<Post, 'body' | 'thread'>): string | null => {
  const text = thread?.join('\n\n') ?? body;
  return text === null ? null : cut(text, mostText);
};

const presentResult = (channel: Schemas['ChannelResult']) => ({
  id: channel.channel_id,
  platform: channel.platform,
  handle: channel.handle,
  status: channel.status,
  url: channel.url,
  error: channel.error && withTools(channel.error),
  retryable: channel.retryable,
});

const firstRows = <Row>(rows: readonly Row[], present: (row: Row) => object) => ({
  channels: rows.slice(0, mostRows).map((row) => filled(present(row))),
  more_channels: rows.length > mostRows ? rows.length - mostRows : null,
});

/** Names the tools in a sentence of the API, which names its calls. */
export const withTools = (sentence: string): string =>
  sentence.replaceAll(/POST \/posts\/[^\s\/]+\/(?<verb>cancel|copy|retry)\b/gv, '$<verb>_post');

/** A time of the API, which is in UTC, as clocks of the time zone show it, with the offset. */
function inZone(time: string | null, zone: string | null): string | null {
  if (time === null || zone === null) {
    return time;
  }

  const date = new Date(time);
  const local = localIn(date, zone);
  const minutes = Math.round((Date.parse(`${local}Z`) - date.getTime()) / 60_000);
  const clock = new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16);
  return `${local}${minutes < 0 ? '-' : '+'}${clock}`;
}

export const presentValidation = (
  { valid, warning, scheduled_at: due, channels }: Answer<'validatePost'>,
  timezone: string | null = null,
) =>
  filled({
    valid,
    scheduled_at: inZone(due, timezone),
    ...firstRows(channels, ({ channel_id: id, errors, warnings, texts: _, ...one }) => ({
      id,
      ...one,
      errors: errors.map(({ message }) => message),
      warnings: warnings.map(({ message }) => message),
    })),
    warnings: warning === null ? [] : [warning],
  });

/** @param isOnly With the schema of its options, which is long. */
export const presentNetwork = (network: Schemas['Network'], isOnly: boolean) =>
  filled({
    platform: network.platform,
    threads: network.threads,
    first_comment: network.first_comment,
    texts: network.texts.map(filled),
    files: network.files.map(filled),
    required: network.required,
    options: isOnly ? network.options : null,
  });

export const presentMetrics = (post: Answer<'getAnalytics'>['posts'][number]) => ({
  post_id: post.post_id,
  text: shortText(post) ?? '',
  published_at: post.published_at,
  totals: filled(post.totals),
  channels: post.channels.slice(0, mostRows).map((one) =>
    filled({
      id: one.channel_id,
      platform: one.platform,
      handle: one.handle,
      url: one.url,
      metrics: one.metrics,
      gone_at: one.gone_at,
    }),
  ),
});
