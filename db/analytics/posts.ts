import { IsolationLevel } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import type { Platform } from '../../networks/registry.ts';
import { cutTexts } from '../load-post-view.ts';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';
import { isListed, isUnread, matchesFilter, selectSums, type Filter } from './filter.ts';

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

export type Selection = Filter & {
  /** A metric or `date`. */
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
};

type TotalsRow = Totals & { readonly first_published_at: Date | null };

/** Times inside JSON are strings. */
export type ChannelRow = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly handle: string;
  readonly url: string | null;
  readonly metrics_updated_at: string | null;
  readonly gone_at: string | null;
  readonly metrics: Readonly<Record<string, unknown>> | null;
};
export type PostRow = Sums & {
  readonly post_id: string;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly body_truncated: boolean;
  readonly published_at: Date;
  readonly channels: readonly ChannelRow[] | null;
};

/** Reads a page, with one post beyond it, and the totals: two statements for any number of posts. @param em A fork. */
export async function readAnalytics(
  em: Em,
  selection: Selection,
): Promise<{ readonly page: readonly PostRow[]; readonly totals: TotalsRow | undefined }> {
  return readFromIndex(em, async () => ({
    page: await queryPlanned(em, selectPage(selection)),
    totals: (await queryPlanned(em, selectTotals(selection)))[0],
  }));
}

/**
 * Reads in one snapshot, with parallel workers, as sums read all rows of their range. When most posts belong to one
 * workspace, PostgreSQL overestimates random reads and scans the table, which takes three times as long.
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

/** SQL: the expression of the index `post_metrics_engagement`. */
const engagement = sql`pm.likes + pm.comments + pm.shares + pm.saves`;

const ifRead = (sum: RawBuilder<unknown>): RawBuilder<number | null> =>
  sql`case when not ${isUnread} then (${sum})::float8 end`;

/** SQL: the sums of a post. They exceed 32 bits, but stay exact in a double. */
const sums = sql`case when pm.with_impressions > 0 then pm.impressions::float8 end as impressions,
  ${ifRead(sql`pm.likes`)} as likes, ${ifRead(sql`pm.comments`)} as comments, ${ifRead(sql`pm.shares`)} as shares,
  ${ifRead(sql`pm.saves`)} as saves, ${ifRead(engagement)} as engagement`;

/** Selects one post beyond the page, from the indexed sums alone, and then reads texts and channels. */
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
 *   least engagement are often all posts with none. Unread posts, whose stored engagement is 0, come after the others.
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
