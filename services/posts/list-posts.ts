import { sql } from 'kysely';
import { shownStatus } from '../../db/channel-status.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import type { ChannelResult, PostView } from '../../domain/post-view.ts';
import { endedOutcome, type EndedOutcome } from '../../domain/statuses.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import { encodeCursor, readCursor } from '../cursor.ts';
import { cutTexts } from './read-posts.ts';
import { isOnOneOf, matchesSearch, type PostSearch, type PostTime } from './search-posts.ts';

export const listOrders = ['desc', 'asc'] as const;

type Request = PostSearch & {
  readonly sort?: PostTime;
  readonly order?: (typeof listOrders)[number];
  readonly limit: number;
  /** Only posts that have one of these channels; null for all. */
  readonly channelIds?: readonly string[] | null;
  readonly cursor?: string;
};

type Target = Pick<
  ChannelResult,
  'channel_id' | 'status' | 'platform' | 'handle' | 'url' | 'error_code'
>;

/** A post in a list, as clients see it. */
type ListedPost = Pick<
  PostView,
  | 'id'
  | 'body'
  | 'thread'
  | 'scheduled_at'
  | 'published_at'
  | 'created_at'
  | 'status'
  | 'tags'
  | 'external_id'
> & {
  readonly body_truncated: boolean;
  /** Null until the post has ended. */
  readonly outcome: EndedOutcome | null;
  readonly post_targets: readonly Target[];
};

type Row = Omit<ListedPost, PostTime | 'outcome'> & Readonly<Record<PostTime, Date | null>>;

/**
 * Lists posts with their channels. A list by another time than the creation has only posts with that time.
 *
 * @throws AppError `invalid_request` for a cursor of another list, or a parameter that cannot be read.
 */
export async function listPosts(
  em: Em,
  workspaceId: string,
  { limit, cursor, channelIds = null, ...search }: Request,
): Promise<{ posts: ListedPost[]; nextCursor: string | null }> {
  const list = printOf(search);
  const after = readCursor(cursor, list);
  const { date_field: field = 'scheduled_at', order } = search;
  const hasRange = search.from !== undefined || search.to !== undefined;
  // Together with a range of another time, PostgreSQL may read a whole workspace in the order of the creation.
  const { sort = hasRange ? field : 'created_at' } = search;
  const time = sql.ref(`p.${sort}`);
  const [way, beyond] = order === 'asc' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const conditions = [
    ...(await matchesSearch(em, workspaceId, search)),
    ...(channelIds === null ? [] : [await isOnOneOf(em, workspaceId, channelIds)]),
    ...(sort === 'created_at' ? [] : [sql`${time} is not null`]),
    ...(after ? [sql`(${time}, p.id) ${beyond} (${after.createdAt}, ${after.id})`] : []),
  ];
  // Finds the ids of the page first, mostly by an index alone, and then reads the rows and their channels.
  const rows = await queryPlanned(
    em,
    sql<Row>`
      select p.id, ${cutTexts}, p.scheduled_at, p.published_at, p.created_at, p.status, p.tags, p.external_id,
        coalesce(t.targets, '[]'::jsonb) as post_targets
      from (
        select p.id from posts p where ${sql.join(conditions, sql` and `)}
        order by ${time} ${way}, p.id ${way} limit ${limit + 1}
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
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const lastTime = last?.[sort];
  return {
    posts: page.map(present),
    nextCursor:
      lastTime && rows.length > limit
        ? encodeCursor({ createdAt: lastTime, id: last.id }, list)
        : null,
  };
}

/** Names the list that a cursor belongs to; empty for the list without filters in its usual order. */
function printOf(search: Omit<Request, 'limit' | 'cursor' | 'channelIds'>): string {
  const given = Object.entries(search).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? '' : sha256Hex(JSON.stringify(given)).slice(0, 16);
}

const present = ({ status, ...row }: Row): ListedPost => ({
  ...row,
  scheduled_at: row.scheduled_at?.toISOString() ?? null,
  published_at: row.published_at?.toISOString() ?? null,
  created_at: row.created_at?.toISOString() ?? '',
  status,
  outcome:
    status === 'published' || status === 'failed'
      ? endedOutcome(row.post_targets.map((target) => target.status))
      : null,
});
