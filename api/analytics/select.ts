import type { Platform } from '../../networks/registry.ts';
import { cutTexts } from '../posts/cut-texts.ts';
import type { Sort } from './schemas.ts';

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
 * that are to be listed, in order. A post counts when the first of the channels that are asked for published it: one
 * that a network took a month late is of that month, there. Posts are found by an index on the time of publishing.
 */
export function selectSums(selection: Selection): Statement {
  const channels = publishedChannels(selection);
  const times = countedTimes(selection);
  return {
    sql: `with summed as (
       select p.id as post_id, ${times.at} as published_at,
         sum(${metric('impressions')}) as impressions,
         coalesce(sum(${metric('likes')}), 0) as likes,
         coalesce(sum(${metric('comments')}), 0) as comments,
         coalesce(sum(${metric('shares')}), 0) as shares,
         coalesce(sum(${metric('saves')}), 0) as saves
       ${channels.sql} and ${times.sql}
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
    parameters: [...channels.parameters, ...times.parameters, selection.limit, selection.offset],
  };
}

/** What went out on which channel, of the posts of a page. */
export function selectChannels(selection: Selection, postIds: readonly string[]): Statement {
  const { sql, parameters } = publishedChannels(selection);
  return {
    sql: `select p.id as post_id, pc.channel_id, c.platform, c.handle, pc.url, pc.metrics, pc.metrics_updated_at
       ${sql} and p.id in (?)
       order by pc.position, pc.id`,
    parameters: [...parameters, postIds],
  };
}

/** What the posts of a page say. */
export const selectTexts = ({ workspaceId }: Selection, postIds: readonly string[]): Statement => ({
  sql: `select p.id as post_id, ${cutTexts} from posts p where p.workspace_id = ? and p.id in (?)`,
  parameters: [workspaceId, postIds],
});

function publishedChannels({ workspaceId, channelId, platform }: Selection): Statement {
  const { sql, parameters } = filterOf({ channelId, platform }, 'pc', 'c');
  return {
    sql: `from posts p
       join post_channels pc on pc.post_id = p.id
       join channels c on c.id = pc.channel_id
       where p.workspace_id = ? and pc.workspace_id = p.workspace_id
         and p.published_at is not null and pc.status = 'published'${sql}`,
    parameters: [workspaceId, ...parameters],
  };
}

/** The condition on the times of posts, their grouping, and `at`: when a post counts. */
function countedTimes(selection: Selection): Statement & { readonly at: string } {
  const { workspaceId, published, channelId, platform } = selection;
  const isFiltered = channelId !== undefined || platform !== undefined;
  const at = isFiltered ? 'min(pc.published_at)' : 'p.published_at';
  if ('postId' in published) {
    return { at, sql: 'p.id = ? group by p.id', parameters: [published.postId] };
  }

  const [begin, end] = [published.begin / 1000, published.end / 1000];
  const within = (time: string): string =>
    `${time} >= to_timestamp(?) and ${time} < to_timestamp(?)`;
  if (!isFiltered) {
    return { at, sql: `${within('p.published_at')} group by p.id`, parameters: [begin, end] };
  }

  const filter = filterOf({ channelId, platform }, 'opc', 'oc');
  return {
    at,
    sql: `p.id in (
           select opc.post_id from channels oc join post_channels opc on opc.channel_id = oc.id
           where oc.workspace_id = ? and opc.status = 'published' and ${within('opc.published_at')}${filter.sql}
         )
       group by p.id having min(pc.published_at) >= to_timestamp(?)`,
    parameters: [workspaceId, begin, end, ...filter.parameters, begin],
  };
}

/** Conditions on which channels count. @param pc, c What the tables are called there. */
function filterOf(
  { channelId, platform }: Pick<Selection, 'channelId' | 'platform'>,
  pc: string,
  c: string,
): Statement {
  return {
    sql:
      (channelId === undefined ? '' : ` and ${pc}.channel_id = ?`) +
      (platform === undefined ? '' : ` and ${c}.platform = ?`),
    parameters: [channelId, platform].filter((value) => value !== undefined),
  };
}

/** A post without the metric comes last, and the newest first where the order says nothing. */
const orderOf = ({ sort, order }: Selection): string =>
  sort === 'date'
    ? `order by published_at ${order}, post_id ${order}`
    : `order by ${sort} ${order} nulls last, published_at desc, post_id desc`;
