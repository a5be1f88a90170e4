import type { Status } from './post.ts';
import { tagsOf } from './text.ts';

const defaultLimit = 20;
const maxLimit = 40;

export type StatusPage = { readonly statuses: Status[]; readonly link: string | undefined };

/**
 * A page of an account's statuses, newest first.
 *
 * Like Mastodon, `exclude_replies` keeps replies to oneself, and the sandbox has no others. There are no boosts or
 * pinned posts.
 *
 * @param statuses Ordered by id.
 * @param isAltered While an account has such a status, the last page is always followed by another one.
 * @param url The requested URL, from which the URLs of the next and previous page are made.
 */
export function listStatuses(
  statuses: readonly Status[],
  url: URL,
  isAltered: (status: Status) => boolean,
): StatusPage {
  const query = url.searchParams;
  if (isTrue(query.get('pinned'))) {
    return { statuses: [], link: undefined };
  }
  const maxId = idOf(query.get('max_id'));
  const sinceId = idOf(query.get('since_id'));
  const minId = idOf(query.get('min_id'));
  const limit = limitOf(query.get('limit'));
  const onlyMedia = isTrue(query.get('only_media'));
  const tag = query.get('tagged')?.toLowerCase();
  const fitting = statuses.filter(
    ({ id, text, media = [] }) =>
      (maxId === undefined || BigInt(id) < maxId) &&
      (sinceId === undefined || BigInt(id) > sinceId) &&
      (minId === undefined || BigInt(id) > minId) &&
      (!onlyMedia || media.length > 0) &&
      (tag === undefined || tagsOf(text).includes(tag)),
  );
  // `min_id` requests the page directly above an id, `since_id` the newest page that ends above it.
  const page = minId === undefined ? fitting.slice(-limit) : fitting.slice(0, limit);
  const isPaging = minId !== undefined || maxId !== undefined;
  const altered = statuses.findLast(isAltered);
  const newestFirst = page.length === 0 && isPaging && altered ? [altered] : page.toReversed();
  return { statuses: newestFirst, link: linkOf(newestFirst, url) };
}

function linkOf(page: readonly Status[], url: URL): string | undefined {
  const [newest, oldest] = [page.at(0), page.at(-1)];
  if (newest === undefined || oldest === undefined) {
    return undefined;
  }
  const next = withOnly(url, 'max_id', oldest.id);
  const prev = withOnly(url, 'min_id', newest.id);
  return `<${next}>; rel="next", <${prev}>; rel="prev"`;
}

function withOnly(url: URL, name: string, id: string): string {
  const other = new URL(url);
  for (const old of ['max_id', 'since_id', 'min_id']) {
    other.searchParams.delete(old);
  }
  other.searchParams.set(name, id);
  return other.href;
}

function idOf(value: string | null): bigint | undefined {
  return value !== null && /^\d{1,30}$/v.test(value) ? BigInt(value) : undefined;
}

function limitOf(value: string | null): number {
  const limit = Number(value ?? defaultLimit);
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, maxLimit) : defaultLimit;
}

function isTrue(value: string | null): boolean {
  return value === 'true' || value === '1';
}
