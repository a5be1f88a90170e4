import { loadPostViews, type PostPresentation } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { selectPage, type ListedRow } from '../../db/post-search.ts';
import type { PostSearch, PostTime } from '../../db/post-search.ts';
import { reaches } from '../../domain/api-keys.ts';
import { cut } from '../../domain/errors.ts';
import { type ChannelResult, type PostView } from '../../domain/post-view.ts';
import { outcomeOf } from '../../domain/statuses.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import { cutPage, readCursor } from '../cursor.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';

export const listOrders = ['desc', 'asc'] as const;

/** The further fields of a listed post, by the value of `include` that asks for them. */
const includedFields = {
  channels: ['channels', 'summary'],
  media: ['media', 'channel_media', 'thread_media'],
} as const satisfies Record<string, readonly (keyof PostView)[]>;
export const inclusions = Object.keys(includedFields) as (keyof typeof includedFields)[];

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

/** A page with `include` ends after this many bytes: a post may have megabytes of alt texts and options. */
const longestPage = 5_000_000;
const readAtOnce = 5;

type Request = PostSearch & {
  readonly sort?: PostTime;
  readonly order?: (typeof listOrders)[number];
  readonly limit: number;
  /** Only posts that have one of these channels; null for all. */
  readonly channelIds?: readonly string[] | null;
  readonly cursor?: string;
  readonly include?: readonly (typeof inclusions)[number][];
};

type ListedPost = Omit<ListedRow, PostTime> & Pick<PostView, PostTime | 'outcome'>;

/** Lists posts with their channels. A list by another time than the creation has only posts with that time. */
export async function listPosts(
  deps: Pick<ServiceDeps, 'orm'> & PostPresentation,
  workspaceId: string,
  { limit, cursor, channelIds = null, include = [], ...search }: Request,
): Promise<{ posts: (ListedPost & Partial<PostView>)[]; nextCursor: string | null }> {
  const em = deps.orm.em.fork();
  const list = printOf(search);
  const after = readCursor(cursor, list);
  const { date_field: field = 'scheduled_at', order = 'desc' } = search;
  const hasRange = search.from !== undefined || search.to !== undefined;
  // Together with a range of another time, PostgreSQL may read a whole workspace in the order of the creation.
  const { sort = hasRange ? field : 'created_at' } = search;
  const asked = { ...search, sort, order, limit: limit + 1, after, channelIds };
  const rows = await selectPage(em, workspaceId, asked);
  const placeOf = (row: ListedRow) => ({ id: row.id, createdAt: row[sort] ?? new Date(0) });
  if (include.length === 0) {
    const { page, nextCursor } = cutPage(rows, limit, placeOf, list);
    return { posts: page.map(present), nextCursor };
  }

  const posts: (ListedPost & Partial<PostView>)[] = [];
  const most = Math.min(limit, rows.length);
  let read = 0;
  for (let bytes = 0; read < most && bytes < longestPage;) {
    const some = rows.slice(read, Math.min(read + readAtOnce, most)).map(present);
    const whole = await withMore(em, deps, { workspaceId, channelIds }, some, include);
    bytes += Buffer.byteLength(JSON.stringify(whole));
    posts.push(...whole);
    read += some.length;
  }

  return { posts, nextCursor: cutPage(rows, read, placeOf, list).nextCursor };
}

/** Names the list that a cursor belongs to; empty for the list without filters in its usual order. */
function printOf(search: Omit<Request, 'limit' | 'cursor' | 'channelIds' | 'include'>): string {
  const given = Object.entries(search).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? '' : sha256Hex(JSON.stringify(given)).slice(0, 16);
}

/** Adds the fields of `include`. A post that was deleted or left the channels of the key meanwhile is left out. */
async function withMore(
  em: Em,
  shownBy: PostPresentation,
  holder: Pick<Caller, 'workspaceId' | 'channelIds'>,
  posts: readonly ListedPost[],
  include: NonNullable<Request['include']>,
): Promise<(ListedPost & Partial<PostView>)[]> {
  const ids = posts.map(({ id }) => id);
  const shown = { ...shownBy, longestOwn };
  const whole = await loadPostViews(em, holder.workspaceId, ids, shown);
  const names = new Set<string>([
    ...alwaysIncluded,
    ...include.flatMap((one) => includedFields[one]),
  ]);
  return posts.flatMap((listed) => {
    const view = whole.get(listed.id);
    if (
      !view ||
      (holder.channelIds && !view.channels.some((one) => reaches(holder, one.channel_id)))
    ) {
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

const present = ({ status, ...row }: ListedRow): ListedPost => ({
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
