import { sql } from 'kysely';
import { shownStatus } from '../../db/channel-status.ts';
import { loadPostViews, type PostPresentation } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { cut } from '../../domain/errors.ts';
import { type ChannelResult, type PostView } from '../../domain/post-view.ts';
import { outcomeOf } from '../../domain/statuses.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import { encodeCursor, readCursor } from '../cursor.ts';
import type { ServiceDeps } from '../deps.ts';
import { cutTexts } from './read-posts.ts';
import { isOnOneOf, matchesSearch, type PostSearch, type PostTime } from './search-posts.ts';

export const listOrders = ['desc', 'asc'] as const;

/** The further fields of a listed post, by the value of `include` that asks for them. */
const includedFields = {
  channels: ['channels', 'summary'],
  media: ['media', 'channel_media', 'thread_media'],
} as const satisfies Record<string, readonly (keyof PostView)[]>;
export const inclusions = Object.keys(includedFields) as (keyof typeof includedFields)[];

/** Further fields with any `include`. */
const alwaysIncluded = [
  'updated_at',
  'timezone',
  'metadata',
  'video',
  'warning',
  'warnings',
] as const;

/** Limits of `channels[].body` in a list, in characters: of each, and of all of a post together. */
const longestOwn = 3000;
const longestOfChannels = 20_000;

type Request = PostSearch & {
  readonly sort?: PostTime;
  readonly order?: (typeof listOrders)[number];
  readonly limit: number;
  /** Only posts that have one of these channels; null for all. */
  readonly channelIds?: readonly string[] | null;
  readonly cursor?: string;
  readonly include?: readonly (typeof inclusions)[number][];
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
  | 'outcome'
  | 'tags'
  | 'external_id'
> & {
  readonly body_truncated: boolean;
  readonly post_targets: readonly Target[];
};

type Row = Omit<ListedPost, PostTime | 'outcome'> & Readonly<Record<PostTime, Date | null>>;

/**
 * Lists posts with their channels. A list by another time than the creation has only posts with that time.
 *
 * @throws AppError `invalid_request` for a cursor of another list, or a parameter that cannot be read.
 */
export async function listPosts(
  deps: Pick<ServiceDeps, 'orm'> & PostPresentation,
  workspaceId: string,
  { limit, cursor, channelIds = null, include = [], ...search }: Request,
): Promise<{ posts: (ListedPost & Partial<PostView>)[]; nextCursor: string | null }> {
  const em = deps.orm.em.fork();
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
    posts: await withMore(em, deps, workspaceId, page.map(present), include),
    nextCursor:
      lastTime && rows.length > limit
        ? encodeCursor({ createdAt: lastTime, id: last.id }, list)
        : null,
  };
}

/** Names the list that a cursor belongs to; empty for the list without filters in its usual order. */
function printOf(search: Omit<Request, 'limit' | 'cursor' | 'channelIds' | 'include'>): string {
  const given = Object.entries(search).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? '' : sha256Hex(JSON.stringify(given)).slice(0, 16);
}

/** Adds the fields of `include`. A post that was deleted meanwhile is left out. */
async function withMore(
  em: Em,
  shownBy: PostPresentation,
  workspaceId: string,
  posts: readonly ListedPost[],
  include: NonNullable<Request['include']>,
): Promise<(ListedPost & Partial<PostView>)[]> {
  if (include.length === 0) {
    return [...posts];
  }

  const ids = posts.map(({ id }) => id);
  const shown = { ...shownBy, cut: { texts: cutTexts, longestOwn } };
  const whole = await loadPostViews(em, workspaceId, ids, shown);
  const names = new Set<string>([
    ...alwaysIncluded,
    ...include.flatMap((one) => includedFields[one]),
  ]);
  return posts.flatMap((listed) => {
    const view = whole.get(listed.id);
    if (!view) {
      return [];
    }

    const most = Math.min(longestOwn, Math.floor(longestOfChannels / view.channels.length));
    const channels = view.channels.map((channel) => cutBody(channel, most));
    const more = Object.entries({ ...view, channels }).filter(([name]) => names.has(name));
    return [{ ...listed, ...Object.fromEntries(more) }];
  });
}

const cutBody = (channel: ChannelResult, most: number): ChannelResult => ({
  ...channel,
  body: channel.body && cut(channel.body, most),
});

const present = ({ status, ...row }: Row): ListedPost => ({
  ...row,
  scheduled_at: row.scheduled_at?.toISOString() ?? null,
  published_at: row.published_at?.toISOString() ?? null,
  created_at: row.created_at?.toISOString() ?? '',
  status,
  outcome: outcomeOf(
    status,
    row.post_targets.map((target) => target.status),
  ),
});
