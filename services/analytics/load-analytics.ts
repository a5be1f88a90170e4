import {
  readAnalytics,
  type ChannelRow,
  type PostRow,
  type Selection,
  type Sums,
  type Totals,
} from '../../db/analytics/posts.ts';
import type { Em } from '../../db/orm.ts';
import { metricNames } from '../../networks/network.ts';
import type { Platform } from '../../networks/registry.ts';
import type { ServiceDeps } from '../deps.ts';
import {
  dayOf,
  daysAsked,
  filterOf,
  metricsOf,
  type Days,
  type PublishedSearch,
} from './selection.ts';

/** A post's metric that lists are sorted by, or its date. */
export const sortKeys = ['date', ...metricNames, 'engagement'] as const;

type ChannelAnalytics = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly handle: string;
  readonly url: string | null;
  readonly metrics: Readonly<Record<string, number>> | null;
  readonly metrics_updated_at: string | null;
  readonly gone_at: string | null;
};

type PostAnalytics = {
  readonly post_id: string;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  /** Whether the texts are cut. */
  readonly body_truncated: boolean;
  readonly published_at: string;
  readonly channels: readonly ChannelAnalytics[];
  readonly totals: Sums;
};

type Analytics = {
  readonly totals: Totals;
  /** Publishing time of the oldest selected post; null without posts. */
  readonly firstPublishedAt: Date | null;
  readonly posts: readonly PostAnalytics[];
  readonly hasMore: boolean;
};

type AnalyticsRequest = PublishedSearch & {
  readonly sort?: Selection['sort'] | undefined;
  readonly order?: Selection['order'] | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/** Lists published posts with their metrics. @returns also the days that the answer covers. */
export async function listAnalytics(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  workspaceId: string,
  request: AnalyticsRequest,
): Promise<Omit<Analytics, 'firstPublishedAt'> & { readonly days: Days }> {
  const { sort = 'date', order = 'desc', limit = 50, offset = 0 } = request;
  const asked = daysAsked(request, now());
  const filter = filterOf(workspaceId, request, asked);
  const page = { sort, order, limit, offset };
  const { firstPublishedAt, ...found } = await loadAnalytics(orm.em.fork(), { ...filter, ...page });
  const day = firstPublishedAt && dayOf(firstPublishedAt, request.timezone);
  // With a post's id the answer covers the day on which the post was published.
  const days = request.postId !== undefined && day ? { from: day, to: day } : asked;
  return { ...found, days };
}

/** Loads the page and the totals with two statements, for any number of posts. @param em A fork. */
export async function loadAnalytics(em: Em, selection: Selection): Promise<Analytics> {
  const { page, totals: row } = await readAnalytics(em, selection);
  if (!row) {
    throw new Error('The totals query returned no row.');
  }

  const { first_published_at: firstPublishedAt, ...totals } = row;
  const posts = page.slice(0, selection.limit).map(present);
  return { totals, firstPublishedAt, posts, hasMore: page.length > selection.limit };
}

const present = (row: PostRow): PostAnalytics => ({
  post_id: row.post_id,
  body: row.body,
  thread: row.thread,
  body_truncated: row.body_truncated,
  published_at: row.published_at.toISOString(),
  channels: (row.channels ?? []).map(presentChannel),
  totals: {
    impressions: row.impressions,
    likes: row.likes,
    comments: row.comments,
    shares: row.shares,
    saves: row.saves,
    engagement: row.engagement,
  },
});

const presentChannel = (row: ChannelRow): ChannelAnalytics => ({
  channel_id: row.channel_id,
  platform: row.platform,
  handle: row.handle,
  url: row.url,
  metrics: row.metrics_updated_at === null ? null : metricsOf(row.metrics ?? {}),
  metrics_updated_at: iso(row.metrics_updated_at),
  gone_at: iso(row.gone_at),
});

const iso = (time: string | null): string | null => time && new Date(time).toISOString();
