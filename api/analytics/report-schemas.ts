import {
  count,
  dateTime,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { platforms } from '../../networks/registry.ts';
import { analyticsQuery, day, goneAt, metricFields, number, totalsSchema } from './schemas.ts';

const channel = { channel_id: uuid, platform: oneOf(platforms), handle: text };

export const daysQuery = { from: analyticsQuery.from, to: analyticsQuery.to } as const;

export const historyQuery = {
  from: {
    description: 'The first day of reading, in UTC. 29 days before `to` if left out.',
    schema: day,
  },
  to: analyticsQuery.to,
} as const;

const channelHistory = record({
  ...channel,
  url: nullable(text),
  gone_at: goneAt,
  days: {
    ...listOf(record({ day, metrics: metricFields })),
    description:
      'The last metrics that the network reported on each day, in UTC. Totals, not the increase of that day.',
  },
});
export type ChannelHistory = Value<typeof channelHistory>;

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
export type ByChannel = Value<typeof byChannel>;

export const byChannelSchema = record({
  from: day,
  to: day,
  channels: {
    ...listOf(byChannel),
    description: 'Every connected channel, and those of the past that published in these days.',
  },
});

export const bestTimesQuery = {
  ...daysQuery,
  timezone: {
    description: 'The time zone of the weekdays and hours, as an IANA name: `Europe/Berlin`.',
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
  engagement: number,
  average: { ...number, description: 'Engagement per post.' },
});
export type BestTime = Value<typeof bestTime>;

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
