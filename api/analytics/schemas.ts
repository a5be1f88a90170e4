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
} from '../../domain/json-schema.ts';
import { platforms } from '../../networks/registry.ts';
import { sortKeys } from '../../services/analytics/load-analytics.ts';
import { refreshStates } from '../../db/analytics/mark-due.ts';
import { bodyTruncated } from '../posts/schemas.ts';

const number = { type: 'number' } as const;
const day = { ...text, format: 'date' } as const;

export const analyticsQuery = {
  from: {
    description: 'The first day, by the time of publishing. 29 days before `to` if left out.',
    schema: day,
  },
  to: {
    description: 'The last day. Today if left out. 366 days at most from `from`, both counted.',
    schema: day,
  },
  timezone: {
    description:
      'The time zone of the days, as an IANA name: `Europe/Berlin`. UTC if left out. Times in the answer are always in UTC.',
    schema: { ...text, maxLength: 64 },
  },
  post_id: {
    description:
      'Only this post; `from` and `to` are ignored then. One that is not yours is a 404.',
    schema: knownId,
  },
  channel_id: {
    description: 'Only what went out on this channel. One that is not yours is a 404.',
    schema: knownId,
  },
  platform: {
    description: 'Only what went out on this network.',
    schema: oneOf(platforms),
  },
  sort: {
    description:
      'The sort key: the date, or a metric as the sum over the channels of a post. Posts without the metric come last in both orders.',
    schema: { ...oneOf(sortKeys), default: 'date' },
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
      '`csv`: the whole range as text/csv, a line for each post and channel, by date. `limit`, `offset` and another `sort` are refused. A text that begins with `=`, `+`, `-` or `@`, such as a handle, has an apostrophe before it, so that no spreadsheet runs it.',
    schema: { ...oneOf(['json', 'csv']), default: 'json' },
  },
} as const;

const sum = nullable(number);

const sumFields = {
  impressions: {
    ...nullable(number),
    description: 'Null when none of the networks involved reports views.',
  },
  likes: { ...sum, description: 'Null, like the others, when no metrics were read yet.' },
  comments: sum,
  shares: sum,
  saves: sum,
  engagement: { ...sum, description: 'Likes, comments, shares and saves.' },
};
export const sums = record(sumFields);

export const metricFields = fields({
  impressions: number,
  likes: number,
  comments: number,
  shares: number,
  saves: number,
});

const goneAt = {
  ...nullable(dateTime),
  description:
    'When the network first said that the post is not there any more. Its metrics stay as they were last read.',
};

const channelAnalytics = record({
  channel_id: uuid,
  platform: oneOf(platforms),
  handle: text,
  url: { ...nullable(text), description: 'Where the post is live.' },
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

const totalsSchema = record({
  posts: count,
  posts_without_metrics: {
    ...count,
    description:
      'How many of them have a channel whose metrics were not read yet. The totals are without those metrics.',
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

const channel = { channel_id: uuid, platform: oneOf(platforms), handle: text };

export const daysQuery = { from: analyticsQuery.from, to: analyticsQuery.to } as const;

/** @param first Describes the first day. */
const utcDays = (first: string) =>
  ({
    from: { description: `${first}. 29 days before \`to\` if left out.`, schema: day },
    to: {
      description:
        'The last day, in UTC. Today if left out. 366 days at most from `from`, both counted.',
      schema: day,
    },
  }) as const;

export const historyQuery = utcDays('The first day of reading, in UTC');

const channelHistory = record({
  ...channel,
  url: { ...nullable(text), description: 'Where the post is live.' },
  gone_at: goneAt,
  days: {
    ...listOf(record({ day, metrics: metricFields })),
    description:
      'The last metrics that the network reported on each day, in UTC. Totals, not the increase of that day.',
  },
});

export const historySchema = record({
  post_id: uuid,
  from: day,
  to: day,
  channels: { ...listOf(channelHistory), description: 'The channels that it went out on.' },
});

const byChannel = record({
  ...channel,
  totals: { ...totalsSchema, description: 'Totals of the posts of these days on this channel.' },
  engagement_rate: {
    ...nullable(number),
    description: 'Engagement per view, over the posts with known views; null when there are none.',
  },
  followers: {
    ...nullable(count),
    description: 'Null when the network does not report it, or was not asked yet.',
  },
  followers_updated_at: nullable(dateTime),
});

export const byChannelSchema = record({
  from: day,
  to: day,
  channels: {
    ...listOf(byChannel),
    description: 'Every connected channel, and those of the past that published in these days.',
  },
});

export const bestTimesQuery = {
  ...utcDays('The first day, in UTC, by the time of publishing'),
  timezone: {
    description:
      'The time zone of the weekdays and hours, as an IANA name: `Europe/Berlin`. `from` and `to` are days in UTC.',
    schema: { ...text, maxLength: 64, default: 'UTC' },
  },
  channel_id: analyticsQuery.channel_id,
  platform: analyticsQuery.platform,
} as const;

const bestTime = record({
  weekday: { type: 'integer', minimum: 1, maximum: 7, description: '1 is Monday.' },
  hour: { type: 'integer', minimum: 0, maximum: 23 },
  posts: {
    ...count,
    description:
      'How many posts the figures are based on: those with metrics of at least one channel.',
  },
  engagement: { ...number, description: 'Likes, comments, shares and saves of these posts.' },
  average: { ...number, description: 'Engagement per post.' },
});

export const bestTimesSchema = record({
  from: day,
  to: day,
  timezone: text,
  posts_without_metrics: {
    ...count,
    description: 'Posts without metrics of any channel yet. They are not part of the figures.',
  },
  times: {
    ...listOf(bestTime),
    description: 'By weekday and hour of publishing. Those without a post are left out.',
  },
});

export const refreshSchema = record({
  post_id: uuid,
  channels: {
    ...listOf(
      record({
        channel_id: uuid,
        platform: oneOf(platforms),
        refresh: {
          ...oneOf(refreshStates),
          description:
            '`queued`: its metrics are read now, unless a rate limit of the network or the operator’s monthly budget of paid reads applies. `not_yet`: they were read less than a minute ago, the network is read less often, a rate limit applies, or a read may be under way. `gone`: the post no longer exists on the network. `not_read`: its metrics cannot be read, because the channel needs reconnecting or the id of the post on the network is unknown after a settlement.',
        },
        next_at: {
          ...nullable(dateTime),
          description: 'When its metrics are read next; null when they are not read.',
        },
      }),
    ),
    description: 'The channels that published it.',
  },
  warning: { ...nullable(text), description: 'Says so when nothing of the post is published.' },
});
