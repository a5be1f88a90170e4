import {
  readAnalytics,
  type ChannelRow,
  type PostRow,
  type Selection,
} from '../../db/analytics/posts.ts';
import type { Em } from '../../db/orm.ts';
import { metricNames } from '../../networks/network.ts';
import type { ServiceDeps } from '../deps.ts';
import { dayOf, daysAsked, filterOf, metricsOf, type PublishedSearch } from './selection.ts';

export const sortKeys = ['date', ...metricNames, 'engagement'] as const;

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
) {
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

/** Loads the page and the totals. `firstPublishedAt` is of the oldest selected post. */
export async function loadAnalytics(em: Em, selection: Selection) {
  const { page, totals: row } = await readAnalytics(em, selection);
  if (!row) {
    throw new Error('The totals query returned no row.');
  }

  const { first_published_at: firstPublishedAt, ...totals } = row;
  const posts = page.slice(0, selection.limit).map(present);
  return { totals, firstPublishedAt, posts, hasMore: page.length > selection.limit };
}

const present = ({
  channels,
  impressions,
  likes,
  comments,
  shares,
  saves,
  engagement,
  ...row
}: PostRow) => ({
  ...row,
  published_at: row.published_at.toISOString(),
  channels: (channels ?? []).map(presentChannel),
  totals: { impressions, likes, comments, shares, saves, engagement },
});

const presentChannel = (row: ChannelRow) => ({
  ...row,
  metrics: row.metrics_updated_at === null ? null : metricsOf(row.metrics ?? {}),
  metrics_updated_at: iso(row.metrics_updated_at),
  gone_at: iso(row.gone_at),
});

const iso = (time: string | null): string | null => time && new Date(time).toISOString();
