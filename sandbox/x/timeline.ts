import { invalid } from './problems.ts';
import type { XFile, XPost } from './post.ts';
import { alteredText } from '../store.ts';
import { keyOf, presentText } from './text.ts';
import type { Media, Post, Timeline, TimelineQuery } from './wire.ts';

/** X's parameters; true: supported by the sandbox. The compiler checks the list against X's SDK. */
const parameters = {
  max_results: true,
  pagination_token: true,
  start_time: false,
  end_time: false,
  since_id: true,
  until_id: true,
  exclude: true,
  'post.fields': true,
  expansions: true,
  'user.fields': false,
  'media.fields': true,
  'poll.fields': false,
  'place.fields': false,
} as const satisfies Record<TimelineQuery, boolean>;

/**
 * A page of the account's posts, newest first. Like X, silently omits unknown fields.
 *
 * @param posts Ordered by id.
 * @param isAltered A list that starts below such a post always has a next page.
 * @param origin This server's origin, for the URLs of files.
 * @throws Refusal 400 for a parameter that X or the sandbox does not support.
 */
export function timelineOf(
  posts: readonly XPost[],
  query: URLSearchParams,
  origin: string,
  isAltered: (post: XPost) => boolean,
): Timeline {
  for (const name of query.keys()) {
    if (!Object.hasOwn(parameters, name)) {
      const known = Object.keys(parameters).join(',');
      throw invalid(`The query parameter [${name}] is not one of [${known}]`);
    }
    if (!parameters[name as TimelineQuery]) {
      throw invalid(`The sandbox has no ${name}.`);
    }
  }

  const sinceId = idIn(query, 'since_id');
  const untilId = idIn(query, 'until_id') ?? idIn(query, 'pagination_token');
  const size = sizeIn(query);
  const excluded = listIn(query, 'exclude');
  const fitting = posts.filter(
    ({ id, replyTo }) =>
      (sinceId === undefined || BigInt(id) > sinceId) &&
      (untilId === undefined || BigInt(id) < untilId) &&
      (replyTo === null || !excluded.has('replies')),
  );
  const page = fitting.slice(-size).toReversed();
  const [newest, oldest] = [page.at(0), page.at(-1)];
  const expansions = listIn(query, 'expansions');
  const isEndless =
    sinceId !== undefined && posts.some((post) => isAltered(post) && BigInt(post.id) > sinceId);
  const show = presenter(listIn(query, 'post.fields'), expansions);
  const media = page.flatMap(({ files }) => files.map((file) => presentFile(file, origin)));
  return {
    ...(page.length > 0 && {
      data: page.map((post) => show(isAltered(post) ? { ...post, text: alteredText } : post)),
    }),
    ...(media.length > 0 && expansions.has('attachments.media_keys') && { includes: { media } }),
    meta: {
      result_count: page.length,
      ...(newest && oldest && { newest_id: newest.id, oldest_id: oldest.id }),
      ...(oldest && fitting.length > size && { next_token: oldest.id }),
      ...(isEndless && { next_token: oldest?.id ?? '1' }),
    },
  };
}

function presenter(fields: ReadonlySet<string>, expansions: ReadonlySet<string>) {
  return (post: XPost): Post => {
    const { id, files, conversationId, createdAt, replyTo } = post;
    const { text, urls } = presentText(post);
    const all = {
      attachments: files.length > 0 ? { media_keys: files.map(keyOf) } : undefined,
      conversation_id: conversationId,
      created_at: createdAt,
      entities: urls.length > 0 ? { urls } : undefined,
      paid_partnership: post.isPaidPartnership,
    } satisfies { readonly [Name in keyof Post]?: Post[Name] | undefined };
    const asked = Object.entries(all).filter(([name, value]) => fields.has(name) && value);
    return {
      id,
      text,
      ...Object.fromEntries(asked),
      ...(expansions.has('referenced_posts') &&
        replyTo !== null && { referenced_posts: [{ type: 'replied_to', id: replyTo }] }),
    };
  };
}

const presentFile = (file: XFile, origin: string): Media => ({
  media_key: keyOf(file),
  type: file.type.startsWith('video/') ? 'video' : 'photo',
  url: `${origin}/files/${file.cid}`,
  ...(file.altText !== '' && { alt_text: file.altText }),
});

const listIn = (query: URLSearchParams, name: TimelineQuery): ReadonlySet<string> =>
  new Set((query.get(name) ?? '').split(',').filter((item) => item !== ''));

function idIn(query: URLSearchParams, name: TimelineQuery): bigint | undefined {
  const value = query.get(name);
  if (value !== null && !/^\d{1,19}$/v.test(value)) {
    throw invalid(`The ${name} query parameter value [${value}] is not valid`);
  }
  return value === null ? undefined : BigInt(value);
}

function sizeIn(query: URLSearchParams): number {
  const value = query.get('max_results') ?? '10';
  const size = Number(value);
  if (!/^\d{1,3}$/v.test(value) || size < 5 || size > 100) {
    throw invalid(`The max_results query parameter value [${value}] is not between 5 and 100`);
  }
  return size;
}
