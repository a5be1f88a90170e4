import {
  count,
  dateTime,
  fields,
  flag,
  knownId,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { metricNames } from '../../networks/metrics.ts';
import { platforms } from '../../networks/registry.ts';
import type { QueryOf } from '../http/route.ts';
import { bodyTruncated } from '../posts/cut-texts.ts';

const sorts = ['date', ...metricNames, 'engagement'] as const;
export type Sort = (typeof sorts)[number];

export const number = { type: 'number' } as const;
export const day = { ...text, format: 'date' } as const;

export const analyticsQuery = {
  from: {
    description:
      'The first day, in UTC, by the time of publishing. 29 days before `to` if left out.',
    schema: day,
  },
  to: {
    description:
      'The last day, in UTC. Today if left out. 366 days at most from `from`, both counted.',
    schema: day,
  },
  post_id: {
    description:
      'Only this post; `from` and `to` are ignored then. One that is not yours finds nothing.',
    schema: knownId,
  },
  channel_id: {
    description: 'Only what went out on this channel. One that is not yours finds nothing.',
    schema: knownId,
  },
  platform: {
    description: 'Only what went out on this network.',
    schema: oneOf(platforms),
  },
  sort: {
    description:
      'The sort key: the date, or a metric as the sum over the channels of a post. Posts without the metric come last in both orders.',
    schema: { ...oneOf(sorts), default: 'date' },
  },
  order: {
    description: 'Descending, or ascending.',
    schema: { ...oneOf(['desc', 'asc']), default: 'desc' },
  },
  limit: {
    description: 'How many posts to list. The totals are those of all.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  },
  offset: {
    description: 'How many posts to leave out at the beginning of the list.',
    schema: { type: 'integer', minimum: 0, maximum: 2_147_483_647, default: 0 },
  },
  format: {
    description:
      '`csv`: the whole range as text/csv, a line for each post and channel, by date. `limit`, `offset` and another `sort` are refused.',
    schema: { ...oneOf(['json', 'csv']), default: 'json' },
  },
} as const;
export type AnalyticsRequest = QueryOf<typeof analyticsQuery>;

/** Sums of metrics. A metric that a network does not report counts as 0. */
const sumFields = {
  impressions: {
    ...nullable(number),
    description: 'Null when none of the networks involved reports views.',
  },
  likes: number,
  comments: number,
  shares: number,
  saves: number,
  engagement: { ...number, description: 'Likes, comments, shares and saves.' },
};
const sums = record(sumFields);
export type Sums = Value<typeof sums>;

export const metricFields = fields({
  impressions: number,
  likes: number,
  comments: number,
  shares: number,
  saves: number,
});

export const goneAt = {
  ...nullable(dateTime),
  description:
    'When the network first said that the post is not there any more. Its metrics stay as they were last read.',
};

const channelAnalytics = record({
  channel_id: uuid,
  platform: oneOf(platforms),
  handle: text,
  url: nullable(text),
  metrics: {
    ...nullable(metricFields),
    description:
      'Only the metrics that the network provides. Null until they were read for the first time.',
  },
  metrics_updated_at: {
    ...nullable(dateTime),
    description: 'When they were last read from the network. Null until then.',
  },
  gone_at: goneAt,
});
export type ChannelAnalytics = Value<typeof channelAnalytics>;

export const postAnalyticsSchema = record({
  post_id: uuid,
  body: nullable(text),
  thread: nullable(listOf(text)),
  body_truncated: bodyTruncated,
  published_at: {
    ...dateTime,
    description: 'When the first of these channels published it.',
  },
  channels: {
    ...listOf(channelAnalytics),
    description: 'The channels that it went out on.',
  },
  totals: sums,
});
export type PostAnalytics = Value<typeof postAnalyticsSchema>;

export const totalsSchema = record({
  posts: count,
  posts_without_metrics: {
    ...count,
    description:
      'How many of them have a channel whose metrics were not read yet. Those metrics count as 0.',
  },
  ...sumFields,
});

export const analyticsSchema = record({
  from: { ...day, description: 'With `post_id`, the day on which that post was published.' },
  to: day,
  totals: { ...totalsSchema, description: 'Of every post in the range, listed or not.' },
  posts: listOf(postAnalyticsSchema),
  has_more: { ...flag, description: 'Whether there are more posts after these.' },
});
export type Totals = Value<typeof totalsSchema>;
