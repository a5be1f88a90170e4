import type { Platform } from '../../domain/platform.ts';
import type { Sort } from './request.ts';

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

/** A statement with `?` in the place of each parameter. */
export type Statement = { readonly sql: string; readonly parameters: readonly unknown[] };

const metric = (name: string): string => `(pc.metrics->>'${name}')::float8`;

/**
 * Sums up every post that was published, and answers one row: `totals` of all of them and `page`, the sums of those
 * that are to be listed, in order. The posts are found by the index on `published_at`; each is read once.
 */
export function selectSums(selection: Selection): Statement {
  const { sql, parameters } = publishedChannels(selection);
  return {
    sql: `with summed as (
       select p.id as post_id, p.published_at,
         sum(${metric('impressions')}) as impressions,
         coalesce(sum(${metric('likes')}), 0) as likes,
         coalesce(sum(${metric('comments')}), 0) as comments,
         coalesce(sum(${metric('shares')}), 0) as shares,
         coalesce(sum(${metric('saves')}), 0) as saves
       ${sql}
       group by p.id
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
       select * from per_post ${orderOf(selection)} limit ? offset ?
     )
     select to_jsonb(totals) as totals,
       (select coalesce(jsonb_agg(to_jsonb(page) ${orderOf(selection)}), '[]') from page) as page
     from totals`,
    parameters: [...parameters, selection.limit, selection.offset],
  };
}

/** What went out on which channel, of the posts of a page. */
export function selectChannels(selection: Selection, postIds: readonly string[]): Statement {
  const { sql, parameters } = publishedChannels(selection);
  return {
    sql: `select p.id as post_id, p.body, p.thread, pc.channel_id, c.platform, c.handle, pc.url,
         pc.metrics, pc.metrics_updated_at
       ${sql} and p.id in (?)
       order by pc.position, pc.id`,
    parameters: [...parameters, postIds],
  };
}

function publishedChannels({ workspaceId, published, channelId, platform }: Selection): Statement {
  const conditions: [string, ...unknown[]][] = [
    ['p.workspace_id = ? and pc.workspace_id = p.workspace_id', workspaceId],
    ["p.published_at is not null and pc.status = 'published'"],
    'postId' in published
      ? ['p.id = ?', published.postId]
      : [
          'p.published_at >= to_timestamp(?) and p.published_at < to_timestamp(?)',
          published.begin / 1000,
          published.end / 1000,
        ],
    ...(channelId === undefined ? [] : [['pc.channel_id = ?', channelId] as [string, string]]),
    ...(platform === undefined ? [] : [['c.platform = ?', platform] as [string, string]]),
  ];
  return {
    sql: `from posts p
       join post_channels pc on pc.post_id = p.id
       join channels c on c.id = pc.channel_id
       where ${conditions.map(([sql]) => sql).join(' and ')}`,
    parameters: conditions.flatMap(([, ...parameters]) => parameters),
  };
}

/** A post without the metric comes last, and the newest first where the order says nothing. */
const orderOf = ({ sort, order }: Selection): string =>
  sort === 'date'
    ? `order by published_at ${order}, post_id ${order}`
    : `order by ${sort} ${order} nulls last, published_at desc, post_id desc`;
