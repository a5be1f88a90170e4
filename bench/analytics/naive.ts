import type { Em } from '../../db/orm.ts';

export type Question = {
  readonly begin: number;
  readonly end: number;
  readonly platform?: 'mastodon' | undefined;
  readonly sort: 'date' | 'engagement';
};

export type Answer = { readonly totals: object; readonly ids: readonly string[] };

const metric = (name: string): string => `coalesce(sum((pc.metrics->>'${name}')::float8), 0)`;

/**
 * The page and the totals from the rows, in one statement: the query of `GET /analytics` before `post_metrics` existed.
 */
const naiveSql = ({ platform, sort }: Question): string => {
  const order =
    sort === 'date'
      ? 'order by published_at desc, post_id desc'
      : 'order by engagement desc nulls last, published_at desc, post_id desc';
  return `
  with summed as (
    select p.id as post_id, min(pc.published_at) as published_at,
      sum((pc.metrics->>'impressions')::float8) as impressions, ${metric('likes')} as likes,
      ${metric('comments')} as comments, ${metric('shares')} as shares, ${metric('saves')} as saves
    from posts p join post_channels pc on pc.post_id = p.id join channels c on c.id = pc.channel_id
    where p.workspace_id = ? and pc.workspace_id = p.workspace_id and pc.status = 'published'
      and p.published_at >= to_timestamp(?) and p.published_at < to_timestamp(?)
      ${platform ? `and c.platform = '${platform}'` : ''}
    group by p.id
  ), per_post as materialized (
    select *, likes + comments + shares + saves as engagement from summed
  ), totals as (
    select count(*) as posts, sum(impressions) as impressions, sum(likes) as likes, sum(comments) as comments,
      sum(shares) as shares, sum(saves) as saves, sum(engagement) as engagement from per_post
  ), page as (select * from per_post ${order} limit 50)
  select to_jsonb(totals) as totals, (select jsonb_agg(post_id ${order}) from page) as ids from totals`;
};

export async function askNaively(em: Em, workspaceId: string, question: Question): Promise<Answer> {
  const { begin, end } = question;
  const [answer] = await em.execute<Answer[]>(naiveSql(question), [
    workspaceId,
    begin / 1000,
    end / 1000,
  ]);
  if (!answer) {
    throw new Error('The database returned no totals.');
  }

  return answer;
}
