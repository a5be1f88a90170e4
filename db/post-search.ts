import { sql, type RawBuilder } from 'kysely';
import type { Em } from './orm.ts';
import { query, queryPlanned } from './query.ts';
import { queryTime } from '../domain/due-time.ts';
import { wrongValue, type AppError } from '../domain/errors.ts';
import { normalized } from '../domain/texts.ts';
import type { ChannelResult, PostView } from '../domain/post-view.ts';
import type { EndedOutcome, PostStatus } from '../domain/statuses.ts';
import { shownStatus } from './channel-status.ts';
import { cutTexts } from './load-post-view.ts';

/** The times of a post that a list is ordered and filtered by. */
export const postTimes = ['created_at', 'scheduled_at', 'published_at'] as const;
export type PostTime = (typeof postTimes)[number];

/** The filters of a list of posts, all of which apply. */
export type PostSearch = {
  readonly status?: readonly PostStatus[];
  readonly outcome?: EndedOutcome;
  readonly channel_id?: string;
  readonly platform?: string;
  readonly tag?: string;
  readonly external_id?: string;
  readonly q?: string;
  readonly from?: string;
  readonly to?: string;
  readonly date_field?: PostTime;
};

/** SQL: the post `p` fits the search, in parts that all have to hold. */
async function matchesSearch(
  em: Em,
  workspaceId: string,
  search: PostSearch,
): Promise<RawBuilder<unknown>[]> {
  const { status, outcome, external_id: externalId } = search;
  return [
    sql`p.workspace_id = ${workspaceId}`,
    // One status can use the order of its index.
    ...(status ? [sql`p.status = ${status.length === 1 ? status[0] : sql`any(${status})`}`] : []),
    ...(outcome === undefined ? [] : [hasOutcome[outcome]]),
    ...(externalId === undefined ? [] : [sql`p.external_id = ${normalized(externalId, 'NFC')}`]),
    ...inTime(search),
    ...hasTerms(workspaceId, search),
    ...(await hasChannel(em, workspaceId, search)),
  ];
}

const hasChannelIn = (status: 'published' | 'unconfirmed'): RawBuilder<unknown> =>
  sql`exists (select from post_channels pc
    where pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.status = ${sql.lit(status)})`;

const isDoubted = hasChannelIn('unconfirmed');
const isSomewhere = hasChannelIn('published');

/** SQL: as `endedOutcome` in `domain/statuses.ts`. */
const hasOutcome: Readonly<Record<EndedOutcome, RawBuilder<unknown>>> = {
  published: sql`p.status = 'published'`,
  unconfirmed: sql`p.status = 'failed' and ${isDoubted}`,
  partial: sql`p.status = 'failed' and ${isSomewhere} and not ${isDoubted}`,
  failed: sql`p.status = 'failed' and not ${isSomewhere} and not ${isDoubted}`,
};

function inTime({ from, to, date_field: field = 'scheduled_at' }: PostSearch) {
  const start = from === undefined ? null : queryTime('from', from);
  const end = to === undefined ? null : queryTime('to', to);
  if (start && end && start >= end) {
    throw refused('from', 'must be before ?to');
  }

  const time = sql.ref(`p.${field}`);
  return [...(start ? [sql`${time} >= ${start}`] : []), ...(end ? [sql`${time} < ${end}`] : [])];
}

function hasTerms(workspaceId: string, { tag, q }: PostSearch): RawBuilder<unknown>[] {
  if (q !== undefined && !/[[\p{L}\p{N}]--[\u02BB\u02BC]]/v.test(q)) {
    throw refused('q', 'must have a word: letters or digits');
  }

  if (tag === undefined && q === undefined) {
    return [];
  }

  const terms = [
    `@${workspaceId}`,
    ...(tag === undefined ? [] : [`#${normalized(tag, 'NFC').trim()}`]),
  ];
  const hasWords =
    q === undefined
      ? sql``
      : sql`and s.terms @@ array_to_string(search_words(${q}), ' & ')::tsquery`;
  return [
    sql`exists (select from post_search s where s.post_id = p.id and s.workspace_id = p.workspace_id
      and s.terms @@ ${terms.map(quoted).join(' & ')}::tsquery ${hasWords})`,
  ];
}

/** A term of a `tsquery`. */
const quoted = (term: string): string => `'${term.replaceAll(/['\\]/gv, '$&$&')}'`;

async function hasChannel(
  em: Em,
  workspaceId: string,
  { channel_id, platform }: PostSearch,
): Promise<RawBuilder<unknown>[]> {
  if (channel_id === undefined && platform === undefined) {
    return [];
  }

  const channels = await query(
    em,
    sql<{ id: string }>`
      select id from channels where workspace_id = ${workspaceId}
        ${channel_id === undefined ? sql`` : sql`and id = ${channel_id}`}
        ${platform === undefined ? sql`` : sql`and platform = ${platform}`}`,
  );
  const ids = channels.map(({ id }) => id);
  return [await isOnOneOf(em, workspaceId, ids)];
}

/** Reading and sorting this many posts takes about 50 ms. */
const fewPosts = 20_000;

/**
 * SQL: the post `p` has one of these channels. If the channels have few posts, it reads all of them. PostgreSQL would
 * otherwise search the workspace from the newest post on, which takes seconds if all posts of the channel are old.
 */
async function isOnOneOf(
  em: Em,
  workspaceId: string,
  channelIds: readonly string[],
): Promise<RawBuilder<unknown>> {
  const ofChannels = sql`from post_channels pc
    where pc.workspace_id = ${workspaceId} and pc.channel_id = any(${channelIds}::uuid[])`;
  const [found] = await queryPlanned(
    em,
    sql<{ are_few: boolean }>`
      select count(*) <= ${fewPosts}::int as are_few from (select ${ofChannels} limit ${fewPosts + 1}::int) counted`,
  );
  return found?.are_few
    ? sql`p.id = any(array(select pc.post_id ${ofChannels}))`
    : sql`exists (select ${ofChannels} and pc.post_id = p.id)`;
}

const refused = (name: string, message: string): AppError => wrongValue(`?${name}`, message);

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
