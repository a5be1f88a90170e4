import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { cutTexts } from '../posts/cut-texts.ts';
import { metricsOf } from './read-metrics.ts';
import type { ChannelAnalytics, PostAnalytics, Sort, Sums, Totals } from './schemas.ts';
import { isListed, isMeant, type Filter } from './selection.ts';

/** What is asked for, with every default in its place. */
export type Selection = Filter & {
  readonly sort: Sort;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
};

export type Analytics = {
  readonly totals: Totals;
  /** Of the oldest post; null when there is none. */
  readonly firstPublishedAt: Date | null;
  readonly posts: readonly PostAnalytics[];
  readonly hasMore: boolean;
};

type TotalsRow = Totals & { readonly first_published_at: Date | null };

/** As PostgreSQL gives them: times inside of JSON are texts. */
type ChannelRow = Omit<ChannelAnalytics, 'metrics'> & {
  readonly metrics: Readonly<Record<string, unknown>> | null;
};
type PostRow = Sums &
  Pick<PostAnalytics, 'post_id' | 'body' | 'thread' | 'body_truncated'> & {
    readonly published_at: Date;
    readonly channels: readonly ChannelRow[] | null;
  };

/** Two statements, however many posts there are: the page, with all that it shows, and the totals. */
export async function loadAnalytics(em: Em, selection: Selection): Promise<Analytics> {
  const page = await queryPlanned(em, selectPage(selection));
  const [row] = await queryPlanned(em, selectTotals(selection));
  if (!row) {
    throw new Error('The database summed nothing up.');
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

/** SQL: what is shown of the sums of a post. They go beyond 32 bits, and never beyond what a number holds whole. */
const sums = sql`case when pm.with_impressions > 0 then pm.impressions::float8 end as impressions,
  pm.likes::float8 as likes, pm.comments::float8 as comments, pm.shares::float8 as shares, pm.saves::float8 as saves,
  (pm.likes + pm.comments + pm.shares + pm.saves)::float8 as engagement`;

/**
 * One post more than the page holds says whether there are more. The page is chosen from the sums alone, which an index
 * holds; texts and channels are looked up for what it has chosen.
 */
function selectPage(selection: Selection): RawBuilder<PostRow> {
  const order = orderOf(selection);
  return sql`
    with page as materialized (
      select pm.post_id, pm.published_at, ${sums} from post_metrics pm where ${isMeant(selection)}
      ${order} limit ${selection.limit + 1} offset ${selection.offset}
    )
    select page.*, ${cutTexts},
      (select jsonb_agg(jsonb_build_object(
         'channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle, 'url', pc.url, 'metrics', pc.metrics,
         'metrics_updated_at', pc.metrics_updated_at, 'gone_at', pc.gone_at) order by pc.position, pc.id)
       from post_channels pc join channels c on c.id = pc.channel_id
       where pc.post_id = page.post_id and ${isListed(selection)}) as channels
    from page join posts p on p.id = page.post_id
    ${order}`;
}

const selectTotals = (filter: Filter): RawBuilder<TotalsRow> => sql`
  select count(*)::float8 as posts,
    count(*) filter (where pm.unread > 0)::float8 as posts_without_metrics,
    case when sum(pm.with_impressions) > 0 then sum(pm.impressions)::float8 end as impressions,
    ${total('likes')} as likes, ${total('comments')} as comments, ${total('shares')} as shares,
    ${total('saves')} as saves, ${total('likes + pm.comments + pm.shares + pm.saves')} as engagement,
    min(pm.published_at) as first_published_at
  from post_metrics pm where ${isMeant(filter)}`;

const total = (columns: string): RawBuilder<number> =>
  sql`coalesce(sum(pm.${sql.raw(columns)}), 0)::float8`;

/** A post without the metric comes last, and the newest first where the order says nothing. */
function orderOf({ sort, order }: Selection): RawBuilder<unknown> {
  const way = order === 'asc' ? sql`asc` : sql`desc`;
  return sort === 'date'
    ? sql`order by published_at ${way}, post_id ${way}`
    : sql`order by ${sql.ref(sort)} ${way} nulls last, published_at desc, post_id desc`;
}
