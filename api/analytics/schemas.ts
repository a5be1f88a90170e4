import { platforms } from '../../domain/platform.ts';
import { dateTime, nullable, record, text, uuid } from '../../domain/json-schema.ts';
import { bodyTruncated } from '../posts/cut-texts.ts';
import { metricNames } from './request.ts';

const number = { type: 'number' };
const day = { ...text, format: 'date' };

const sums = {
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

const channelAnalytics = record({
  channel_id: uuid,
  platform: { ...text, enum: [...platforms] },
  handle: text,
  url: nullable(text),
  metrics: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(metricNames.map((name) => [name, number])),
    description: 'Only what the network provides. Empty until it was read for the first time.',
  },
  metrics_updated_at: {
    ...nullable(dateTime),
    description: 'When they were last read from the network.',
  },
});

export const postAnalyticsSchema = record({
  post_id: uuid,
  body: nullable(text),
  thread: { type: ['array', 'null'], items: text },
  body_truncated: bodyTruncated,
  published_at: {
    ...dateTime,
    description: 'When the first of these channels published it.',
  },
  channels: {
    type: 'array',
    items: channelAnalytics,
    description: 'The channels that it went out on.',
  },
  totals: record(sums),
});

export const analyticsSchema = record({
  from: { ...day, description: 'With `post_id`, the day on which that post was published.' },
  to: day,
  totals: {
    ...record({ posts: { type: 'integer', minimum: 0 }, ...sums }),
    description: 'Of every post in the range, listed or not.',
  },
  posts: { type: 'array', items: postAnalyticsSchema },
  has_more: { type: 'boolean', description: 'Whether there are more posts after these.' },
});
