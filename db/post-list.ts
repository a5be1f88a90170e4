import { sql } from 'kysely';
import type { ChannelResult, PostView } from '../domain/post-view.ts';
import { shownStatus } from './channel-status.ts';
import { cutTexts } from './load-post-view.ts';
import type { Em } from './orm.ts';
import { isOnOneOf, matchesSearch, type PostSearch, type PostTime } from './post-search.ts';
import { queryPlanned } from './query.ts';

type Target = Pick<
  ChannelResult,
  'channel_id' | 'status' | 'platform' | 'handle' | 'url' | 'error_code'
>;

/** A post of a list, with its long texts cut. */
export type ListedRow = Pick<
  PostView,
  'id' | 'body' | 'thread' | 'status' | 'tags' | 'external_id'
> &
  Readonly<Record<PostTime, Date | null>> & {
    readonly body_truncated: boolean;
    readonly post_targets: readonly Target[];
  };

export type PostPage = PostSearch & {
  /** A list by another time than the creation has only posts with that time. */
  readonly sort: PostTime;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** The last post of the page before. */
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
  /** Only posts that have one of these channels; null for all. */
  readonly channelIds: readonly string[] | null;
};

/** @throws AppError `invalid_request` for a parameter that cannot be read. */
export async function selectPage(
  em: Em,
  workspaceId: string,
  { sort, order, limit, after, channelIds, ...search }: PostPage,
): Promise<ListedRow[]> {
  const time = sql.ref(`p.${sort}`);
  const [way, beyond] = order === 'asc' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const conditions = [
    ...(await matchesSearch(em, workspaceId, search)),
    ...(channelIds === null ? [] : [await isOnOneOf(em, workspaceId, channelIds)]),
    ...(sort === 'created_at' ? [] : [sql`${time} is not null`]),
    ...(after ? [sql`(${time}, p.id) ${beyond} (${after.createdAt}, ${after.id})`] : []),
  ];
  // Finds the ids of the page first, mostly by an index alone, and then reads the rows and their channels.
  return queryPlanned(
    em,
    sql<ListedRow>`
      select p.id, ${cutTexts}, p.scheduled_at, p.published_at, p.created_at, p.status, p.tags, p.external_id,
        coalesce(t.targets, '[]'::jsonb) as post_targets
      from (
        select p.id from posts p where ${sql.join(conditions, sql` and `)}
        order by ${time} ${way}, p.id ${way} limit ${limit}
      ) page
      join posts p on p.id = page.id and p.workspace_id = ${workspaceId}
      left join lateral (
        select jsonb_agg(jsonb_build_object('channel_id', pc.channel_id, 'status', ${shownStatus}, 'platform', c.platform,
          'handle', c.handle, 'url', pc.url, 'error_code', pc.error_code) order by pc.position) as targets
        from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
        where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      ) t on true
      order by ${time} ${way}, p.id ${way}`,
  );
}
