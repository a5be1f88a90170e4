import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { metricNames } from '../../networks/metrics.ts';
import type { Platform } from '../../networks/registry.ts';
import { cutTexts } from '../posts/cut-texts.ts';
import type { ChannelAnalytics, PostAnalytics, Sort, Sums, Totals } from './schemas.ts';

/** What is asked for, with every default in its place. */
export type Selection = {
  readonly workspaceId: string;
  /** In milliseconds since 1970, the end not included. With a post's id its time does not matter. */
  readonly published:
    | { readonly begin: number; readonly end: number }
    | { readonly postId: string };
  readonly channelId?: string | undefined;
  readonly platform?: Platform | undefined;
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

type PostRow = Sums & { readonly post_id: string; readonly published_at: string };
type SumsRow = {
  readonly totals: Totals & { readonly first_published_at: string | null };
  readonly page: readonly PostRow[];
};

type Texts = Pick<PostAnalytics, 'post_id' | 'body' | 'thread' | 'body_truncated'>;

type ChannelRow = Omit<ChannelAnalytics, 'metrics' | 'metrics_updated_at'> & {
  readonly post_id: string;
  readonly metrics: Readonly<Record<string, unknown>> | null;
  readonly metrics_updated_at: Date | null;
};

/** Three statements, however many posts there are. */
export async function loadAnalytics(em: Em, selection: Selection): Promise<Analytics> {
  const [sums] = await queryPlanned(em, selectSums(selection));
  if (!sums) {
    throw new Error('The database summed nothing up.');
  }

  const { totals, page } = sums;
  const ids = page.map(({ post_id: id }) => id);
  const channels = ids.length > 0 ? await queryPlanned(em, selectChannels(selection, ids)) : [];
  const texts = ids.length > 0 ? await queryPlanned(em, selectTexts(selection, ids)) : [];
  const byPost = Map.groupBy(channels, ({ post_id: id }) => id);
  const textsOf = new Map(texts.map((row) => [row.post_id, row]));
  return {
    totals: { posts: totals.posts, ...sumsOf(totals) },
    firstPublishedAt: totals.first_published_at ? new Date(totals.first_published_at) : null,
    posts: page.map((post) =>
      present(post, byPost.get(post.post_id) ?? [], textsOf.get(post.post_id)),
    ),
    hasMore: selection.offset + page.length < totals.posts,
  };
}

const present = (
  post: PostRow,
  channels: readonly ChannelRow[],
  texts: Texts | undefined,
): PostAnalytics => ({
  post_id: post.post_id,
  body: texts?.body ?? null,
  thread: texts?.thread ?? null,
  body_truncated: texts?.body_truncated ?? false,
  published_at: new Date(post.published_at).toISOString(),
  channels: channels.map((channel) => ({
    channel_id: channel.channel_id,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url,
    metrics: metricsOf(channel.metrics ?? {}),
    metrics_updated_at: channel.metrics_updated_at?.toISOString() ?? null,
  })),
  totals: sumsOf(post),
});

const sumsOf = ({ impressions, likes, comments, shares, saves, engagement }: Sums): Sums => ({
  impressions,
  likes,
  comments,
  shares,
  saves,
  engagement,
});

/** Only what the network reported, and only what the contract has a name for. */
const metricsOf = (stored: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = stored[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );

const metric = (name: (typeof metricNames)[number]): RawBuilder<number | null> =>
  sql`(pc.metrics->>${sql.lit(name)})::float8`;

/**
 * Sums up every post that was published, and answers one row: `totals` of all of them and `page`, the sums of those
 * that are to be listed, in order. A post counts when the first of the channels that are asked for published it: one
 * that a network took a month late is of that month, there. Posts are found by an index on the time of publishing.
 */
function selectSums(selection: Selection): RawBuilder<SumsRow> {
  const order = orderOf(selection);
  const { at, counts } = countedTimes(selection);
  return sql`
    with summed as (
      select p.id as post_id, ${at} as published_at,
        sum(${metric('impressions')}) as impressions,
        coalesce(sum(${metric('likes')}), 0) as likes,
        coalesce(sum(${metric('comments')}), 0) as comments,
        coalesce(sum(${metric('shares')}), 0) as shares,
        coalesce(sum(${metric('saves')}), 0) as saves
      ${fromPublished(selection)} and ${counts}
    ), per_post as materialized (
      select *, likes + comments + shares + saves as engagement from summed
    ), totals as (
      select count(*) as posts, min(published_at) as first_published_at,
        sum(impressions) as impressions,
        coalesce(sum(likes), 0) as likes,
        coalesce(sum(comments), 0) as comments,
        coalesce(sum(shares), 0) as shares,
        coalesce(sum(saves), 0) as saves,
        coalesce(sum(engagement), 0) as engagement
      from per_post
    ), page as (
      select * from per_post ${order} limit ${selection.limit} offset ${selection.offset}
    )
    select to_jsonb(totals) as totals,
      (select coalesce(jsonb_agg(to_jsonb(page) ${order}), '[]') from page) as page
    from totals`;
}

/** What went out on which channel, of the posts of a page. */
const selectChannels = (
  selection: Selection,
  postIds: readonly string[],
): RawBuilder<ChannelRow> => sql`
  select p.id as post_id, pc.channel_id, c.platform, c.handle, pc.url, pc.metrics, pc.metrics_updated_at
  ${fromPublished(selection)} and p.id = any(${postIds})
  order by pc.position, pc.id`;

/** What the posts of a page say. */
const selectTexts = (
  { workspaceId }: Selection,
  postIds: readonly string[],
): RawBuilder<Texts> => sql`
  select p.id as post_id, ${cutTexts} from posts p where p.workspace_id = ${workspaceId} and p.id = any(${postIds})`;

const fromPublished = ({ workspaceId, ...filter }: Selection): RawBuilder<unknown> => sql`
  from posts p
  join post_channels pc on pc.post_id = p.id
  join channels c on c.id = pc.channel_id
  where p.workspace_id = ${workspaceId} and pc.workspace_id = p.workspace_id
    and p.published_at is not null and pc.status = 'published' ${filterOf(filter, { pc: 'pc', c: 'c' })}`;

/** `at`: when a post counts. `counts`: the condition on the times of posts, and their grouping. */
function countedTimes(selection: Selection): {
  readonly at: RawBuilder<Date>;
  readonly counts: RawBuilder<unknown>;
} {
  const { workspaceId, published, channelId, platform } = selection;
  const isFiltered = channelId !== undefined || platform !== undefined;
  const at = isFiltered ? sql<Date>`min(pc.published_at)` : sql<Date>`p.published_at`;
  if ('postId' in published) {
    return { at, counts: sql`p.id = ${published.postId} group by p.id` };
  }

  const begin = sql`to_timestamp(${published.begin / 1000}::float8)`;
  const end = sql`to_timestamp(${published.end / 1000}::float8)`;
  if (!isFiltered) {
    return {
      at,
      counts: sql`p.published_at >= ${begin} and p.published_at < ${end} group by p.id`,
    };
  }

  const filter = filterOf(selection, { pc: 'opc', c: 'oc' });
  return {
    at,
    counts: sql`p.id in (
        select opc.post_id from channels oc join post_channels opc on opc.channel_id = oc.id
        where oc.workspace_id = ${workspaceId} and opc.status = 'published'
          and opc.published_at >= ${begin} and opc.published_at < ${end} ${filter}
      )
      group by p.id having min(pc.published_at) >= ${begin}`,
  };
}

/** Conditions on which channels count. @param pc, c What the tables are called there. */
function filterOf(
  { channelId, platform }: Pick<Selection, 'channelId' | 'platform'>,
  { pc, c }: { readonly pc: string; readonly c: string },
): RawBuilder<unknown> {
  const ofChannel = channelId && sql`and ${sql.ref(`${pc}.channel_id`)} = ${channelId}`;
  const ofPlatform = platform && sql`and ${sql.ref(`${c}.platform`)} = ${platform}`;
  return sql`${ofChannel ?? sql``} ${ofPlatform ?? sql``}`;
}

/** A post without the metric comes last, and the newest first where the order says nothing. */
function orderOf({ sort, order }: Selection): RawBuilder<unknown> {
  const way = order === 'asc' ? sql`asc` : sql`desc`;
  return sort === 'date'
    ? sql`order by published_at ${way}, post_id ${way}`
    : sql`order by ${sql.ref(sort)} ${way} nulls last, published_at desc, post_id desc`;
}
