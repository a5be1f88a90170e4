import { platforms, type Platform } from '../../domain/platform.ts';
import type { QuerySpec } from '../http/route.ts';
import { text } from '../../domain/json-schema.ts';
import { idPattern } from '../http/shared-schemas.ts';

/** What a network may tell of a post. The order is that of the answer. */
export const metricNames = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;
export type MetricName = (typeof metricNames)[number];

const sorts = ['date', ...metricNames, 'engagement'] as const;
export type Sort = (typeof sorts)[number];

/** The query as it comes, checked against `analyticsQuery`. */
export type AnalyticsRequest = {
  readonly from?: string;
  readonly to?: string;
  readonly post_id?: string;
  readonly channel_id?: string;
  readonly platform?: Platform;
  readonly sort?: Sort;
  readonly order?: 'asc' | 'desc';
  readonly limit?: number;
  readonly offset?: number;
};

export const analyticsQuery: Readonly<Record<keyof AnalyticsRequest, QuerySpec>> = {
  from: {
    description:
      'The first day, in UTC, by the time of publishing. 29 days before `to` if left out.',
    schema: { ...text, format: 'date' },
  },
  to: {
    description:
      'The last day, in UTC. Today if left out. 366 days at most from `from`, both counted.',
    schema: { ...text, format: 'date' },
  },
  post_id: {
    description:
      'Only this post; `from` and `to` are ignored then. One that is not yours finds nothing.',
    schema: { ...text, pattern: idPattern },
  },
  channel_id: {
    description: 'Only what went out on this channel. One that is not yours finds nothing.',
    schema: { ...text, pattern: idPattern },
  },
  platform: {
    description: 'Only what went out on this network.',
    schema: { ...text, enum: [...platforms] },
  },
  sort: {
    description:
      'What the posts are ordered by, each by the sum over its channels. A post without the metric comes last either way.',
    schema: { ...text, enum: [...sorts], default: 'date' },
  },
  order: {
    description: 'Descending, or ascending.',
    schema: { ...text, enum: ['desc', 'asc'], default: 'desc' },
  },
  limit: {
    description: 'How many posts to list. The totals are those of all.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  },
  offset: {
    description: 'How many posts to leave out at the beginning of the list.',
    schema: { type: 'integer', minimum: 0, maximum: 2_147_483_647, default: 0 },
  },
};
