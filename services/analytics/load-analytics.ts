import { IsolationLevel } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { cutTexts } from '../../db/load-post-view.ts';
import { metricNames } from '../../networks/network.ts';
import type { Platform } from '../../networks/registry.ts';
import type { ServiceDeps } from '../deps.ts';
import {
  dayOf,
  daysAsked,
  filterOf,
  isListed,
  isUnread,
  matchesFilter,
  metricsOf,
  selectSums,
  type Days,
  type Filter,
  type PublishedSearch,
} from './selection.ts';

/** A post's metric that lists are sorted by, or its date. */
export const sortKeys = ['date', ...metricNames, 'engagement'] as const;

/** Sums of metrics. */
type Sums = {
  /** Null when none of the networks involved reports views. */
  readonly impressions: number | null;
  /** Null, like the others, when no metrics were read yet. */
  readonly likes: number | null;
  readonly comments: number | null;
  readonly shares: number | null;
  readonly saves: number | null;
  readonly engagement: number | null;
};

export type Totals = Sums & { readonly posts: number; readonly posts_without_metrics: number };

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

/** A request with all defaults applied. */
export type Selection = Filter & {
  readonly sort: (typeof sortKeys)[number];
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
};

type Analytics = {
  readonly totals: Totals;
  /** Publishing time of the oldest selected post; null without posts. */
  readonly firstPublishedAt: Date | null;
  readonly posts: readonly PostAnalytics[];
  readonly hasMore: boolean;
};

type TotalsRow = Totals & { readonly first_published_at: Date | null };

/** As PostgreSQL returns it: times inside JSON are strings. */
type ChannelRow = Omit<ChannelAnalytics, 'metrics'> & {
  readonly metrics: Readonly<Record<string, unknown>> | null;
};
type PostRow = Sums &
  Pick<PostAnalytics, 'post_id' | 'body' | 'thread' | 'body_truncated'> & {
    readonly published_at: Date;
    readonly channels: readonly ChannelRow[] | null;
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
  const { page, row } = await readFromIndex(em, async () => ({
    page: await queryPlanned(em, selectPage(selection)),
    row: (await queryPlanned(em, selectTotals(selection)))[0],
  }));
  if (!row) {
    throw new Error('The totals query returned no row.');
  }

  const { first_published_at: firstPublishedAt, ...totals } = row;
  const posts = page.slice(0, selection.limit).map(present);
  return { totals, firstPublishedAt, posts, hasMore: page.length > selection.limit };
}

/**
 * Runs both statements in one snapshot, without sequential scans but with parallel workers, as sums read all rows of
 * their range. When most posts belong to one workspace, PostgreSQL overestimates random reads and scans the table,
 * which takes three times as long: it has a row for each scope.
 */
export async function readFromIndex<T>(em: Em, read: () => Promise<T>): Promise<T> {
  await em.begin({ isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true });
  try {
    const settings = sql`set_config('enable_seqscan', 'off', true), set_config('max_parallel_workers_per_gather', '2', true)`;
    await query(em, sql`select ${settings}`);
    const result = await read();
    await em.commit();
    return result;
  } catch (error) {
    await em.rollback();
    throw error;
  }
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

/** SQL: the expression of the index `post_metrics_engagement`. */
const engagement = sql`pm.likes + pm.comments + pm.shares + pm.saves`;

const ifRead = (sum: RawBuilder<unknown>): RawBuilder<number | null> =>
  sql`case when not ${isUnread} then (${sum})::float8 end`;

/** SQL: the sums of a post. They exceed 32 bits, but stay exact in a double. */
const sums = sql`case when pm.with_impressions > 0 then pm.impressions::float8 end as impressions,
  ${ifRead(sql`pm.likes`)} as likes, ${ifRead(sql`pm.comments`)} as comments, ${ifRead(sql`pm.shares`)} as shares,
  ${ifRead(sql`pm.saves`)} as saves, ${ifRead(engagement)} as engagement`;

/**
 * Reads one post beyond the page, for `has_more`. The page is selected from the indexed sums alone; texts and channels
 * are read for the selected posts only.
 */
function selectPage(selection: Selection): RawBuilder<PostRow> {
  return sql`
    with page as materialized (
      select pm.post_id, pm.published_at, ${sums} from post_metrics pm where ${matchesFilter(selection)}
      ${orderOf(selection, sql`${engagement} desc, ${isUnread}`)} limit ${selection.limit + 1} offset ${selection.offset}
    )
    select page.*, ${cutTexts},
      (select jsonb_agg(jsonb_build_object(
         'channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle, 'url', pc.url, 'metrics', pc.metrics,
         'metrics_updated_at', pc.metrics_updated_at, 'gone_at', pc.gone_at) order by pc.position, pc.id)
       from post_channels pc join channels c on c.id = pc.channel_id
       where pc.post_id = page.post_id and ${isListed(selection)}) as channels
    from page join posts p on p.id = page.post_id
    ${orderOf(selection, sql`page.engagement desc nulls last`)}`;
}

const selectTotals = (filter: Filter): RawBuilder<TotalsRow> => sql`
  select ${selectSums}, min(pm.published_at) as first_published_at
  from post_metrics pm where ${matchesFilter(filter)}`;

/**
 * Sorts posts without the metric last, and breaks ties by the newest first.
 *
 * @param byEngagement SQL of the descending order, the only one that uses the index of the engagement: posts with the
 * least engagement are often all posts with none, and reading and sorting those through the index takes three times as
 * long. Unread posts, whose stored engagement is 0, come after those that were read.
 */
function orderOf(
  { sort, order }: Selection,
  byEngagement: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const way = order === 'asc' ? sql`asc` : sql`desc`;
  if (sort === 'date') {
    return sql`order by published_at ${way}, post_id ${way}`;
  }

  const by =
    sort === 'engagement' && order === 'desc'
      ? byEngagement
      : sql`${sql.ref(sort)} ${way} nulls last`;
  return sql`order by ${by}, published_at desc, post_id desc`;
}
