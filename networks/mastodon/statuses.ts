import {
  anything,
  having,
  listOf,
  nullable,
  text,
  textUpTo,
  type Value,
} from '../../domain/json-schema.ts';
import { addressFault } from '../../domain/texts.ts';
import { answerReader, comparedText } from '../answer.ts';
import type { Access } from '../client.ts';
import type { OwnPosts } from '../find-own.ts';
import { type PreparedPart, type Removal, type SentPart } from '../network.ts';
import { ask, getAs, idSchema, remove } from './client.ts';
import { chosenIn, warningIn } from './rules.ts';

/** Bounds the length of a post's URL; `addressFault` checks the rest. */
const addressSchema = textUpTo(2048);

export const applicationSchema = having({ name: text });

const statusSchema = having(
  { id: idSchema, uri: addressSchema },
  {
    /** The page for people. Null only for statuses of other servers. */
    url: nullable(addressSchema),
    in_reply_to_id: nullable(idSchema),
    content: comparedText,
    media_attachments: listOf(anything),
    application: nullable(applicationSchema),
  },
);

export type Status = Value<typeof statusSchema>;

/**
 * A status's URL is shown as a link on every page of posts, so it has to pass the checks for URLs that people give
 * (`POST /posts/{id}/settle`).
 */
const hasAddress = ({ url, uri }: Status): boolean =>
  [url ?? uri, uri].every((address) => addressFault(address) === null);

const readShape = answerReader(statusSchema);

function readStatus(value: unknown): Status | null {
  const status = readShape(value);
  return status && hasAddress(status) ? status : null;
}

const pageSize = 40;
/** Servers may ignore the limit. A far longer page is hostile: it costs memory and time. */
const mostGiven = pageSize * 2;

const readShapes = answerReader(listOf(statusSchema, mostGiven));

function readStatuses(value: unknown): readonly Status[] | null {
  const statuses = readShapes(value);
  return statuses?.every(hasAddress) ? statuses : null;
}

/** 400 statuses since a post began exceed what an account makes; also ends the loop when a server pages in a circle. */
const maxPages = 10;

export async function newestOwnStatusId(access: Access, accountId: string): Promise<string | null> {
  const [newest] = await page(access, accountId, { limit: '1' }, 'prepare');
  return newest?.id ?? null;
}

/**
 * All statuses that the account wrote after a status; all of its statuses when `sinceId` is null.
 *
 * Pages upwards by `min_id`, which the server compares: the status itself may be deleted, and GoToSocial ignores
 * `since_id`.
 */
export const ownStatusesSince = (
  access: Access,
  accountId: string,
  sinceId: string | null,
): OwnPosts<Status, string> => ({
  mostPages: maxPages,
  tooMany: `The account has over ${maxPages * pageSize} newer posts`,
  isOldestFirst: sinceId !== null,
  page: async (id) => {
    const cursor =
      sinceId === null ? { ...(id !== undefined && { max_id: id }) } : { min_id: id ?? sinceId };
    const query = { limit: String(pageSize), ...cursor };
    // Each page lists its newest status first, in both directions.
    const posts = await page(access, accountId, query, 'reconcile');
    return sinceId === null
      ? { posts, next: posts.at(-1)?.id }
      : { posts: posts.toReversed(), next: posts.at(0)?.id };
  },
});

const page = (
  access: Access,
  accountId: string,
  query: Record<string, string>,
  purpose: 'prepare' | 'reconcile',
): Promise<readonly Status[]> => {
  const search = new URLSearchParams({ ...query, exclude_reblogs: 'true' });
  const path = `/api/v1/accounts/${encodeURIComponent(accountId)}/statuses?${search}`;
  return getAs(access, path, purpose, readStatuses);
};

/**
 * Creates one status. Must not be repeated without a reconcile: only Mastodon honours the idempotency key, for about an
 * hour.
 */
export async function createStatus(
  access: Access,
  part: PreparedPart,
  parent: SentPart | undefined,
  mediaIds: readonly string[],
): Promise<SentPart> {
  const { visibility = 'public', sensitive, language } = chosenIn(part.options);
  const body = {
    status: part.text,
    visibility,
    spoiler_text: warningIn(part) || undefined,
    sensitive,
    language,
    ...(mediaIds.length > 0 && { media_ids: mediaIds }),
    ...(parent && { in_reply_to_id: parent.remoteId }),
  };
  const request = {
    method: 'POST',
    path: '/api/v1/statuses',
    headers: { 'idempotency-key': part.key },
    body,
    purpose: 'create',
    isReply: parent !== undefined,
  } as const;
  return sentPartOf(await ask(access, request, readStatus));
}

/** Source: https://docs.joinmastodon.org/methods/statuses/#delete */
export const deleteStatus = (access: Access, id: string): Promise<Removal> =>
  remove(access, { path: `/api/v1/statuses/${encodeURIComponent(id)}` });

export const sentPartOf = (status: Status): SentPart => ({
  remoteId: status.id,
  url: status.url ?? status.uri,
});
