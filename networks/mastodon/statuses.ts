import { addressFault } from '../../domain/links.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { NetworkError, type PreparedPart, type SentPart } from '../network.ts';
import type { Access } from '../access-token.ts';
import { create, getAs, idSchema, refusal, unreadable } from './client.ts';
import { choiceOf } from './options.ts';

/** The longest that may be the address of a post: `addressFault` judges the rest. */
const addressSchema = { type: 'string', maxLength: 2048 };

export type Status = {
  readonly id: string;
  /** The page for people. Null only for statuses of other servers. */
  readonly url?: string | null;
  readonly uri: string;
  readonly in_reply_to_id?: string | null;
  /** HTML. */
  readonly content?: string;
  readonly media_attachments?: readonly unknown[];
  /** Of an account's own statuses: what made them. */
  readonly application?: Application | null;
};

export type Application = { readonly name: string };

export const applicationSchema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' } },
};

const statusSchema = {
  type: 'object',
  required: ['id', 'uri'],
  properties: {
    id: idSchema,
    url: { ...addressSchema, nullable: true },
    uri: addressSchema,
    in_reply_to_id: { ...idSchema, nullable: true },
    content: { type: 'string' },
    media_attachments: { type: 'array' },
    application: { ...applicationSchema, nullable: true },
  },
};

/**
 * What ends up as a link in a user's page must be one that a person may also give (`POST /posts/{id}/settle`): it is shown
 * on every page of posts.
 */
const hasAddress = ({ url, uri }: Status): boolean =>
  [url ?? uri, uri].every((address) => addressFault(address) === null);

const readShape = answerReader<Status>(statusSchema);

function readStatus(value: unknown): Status | null {
  const status = readShape(value);
  return status && hasAddress(status) ? status : null;
}

const pageSize = 40;
/** A server may mean something else by a limit. One that gives far more is after the memory and the time of the process. */
const mostGiven = pageSize * 2;

const readShapes = answerReader<Status[]>({
  type: 'array',
  maxItems: mostGiven,
  items: statusSchema,
});

function readStatuses(value: unknown): Status[] | null {
  const statuses = readShapes(value);
  return statuses?.every(hasAddress) ? statuses : null;
}

/** 400 statuses since a post began is far more than an account makes, and a server that pages in a circle ends here. */
const maxPages = 10;

/** The id of the newest status that the account wrote, or null when it has none. */
export async function newestOwnStatusId(access: Access, accountId: string): Promise<string | null> {
  const [newest] = await page(access, accountId, { limit: '1' }, 'prepare');
  return newest?.id ?? null;
}

/**
 * All statuses that the account wrote after a status, oldest first; all it ever wrote when `sinceId` is null.
 *
 * Pages upwards by `min_id`, which the server compares: the status itself may be deleted by now, and GoToSocial
 * ignores `since_id`.
 *
 * @returns also whether these are all: there may be too many to see them all.
 */
export async function ownStatusesSince(
  access: Access,
  accountId: string,
  sinceId: string | null,
): Promise<{ readonly statuses: readonly Status[]; readonly isWhole: boolean }> {
  const found = new Map<string, Status>();
  const inOrder = () => {
    const statuses = [...found.values()];
    return sinceId === null ? statuses.toReversed() : statuses;
  };
  let cursor: Record<string, string> = sinceId === null ? {} : { min_id: sinceId };
  for (let pages = 0; pages < maxPages; pages += 1) {
    const query = { limit: String(pageSize), ...cursor };
    // Each page lists its newest status first, whichever way the pages go.
    const statuses = await page(access, accountId, query, 'reconcile');
    const newest = statuses.at(0);
    const oldest = statuses.at(-1);
    if (!newest || !oldest) {
      return { statuses: inOrder(), isWhole: true };
    }

    for (const status of sinceId === null ? statuses : statuses.toReversed()) {
      found.set(status.id, status);
    }
    cursor = sinceId === null ? { max_id: oldest.id } : { min_id: newest.id };
  }

  return { statuses: inOrder(), isWhole: false };
}

/** A status that is not among those that were seen may be one of the others. */
export function tooMany(): NetworkError {
  const message = `The account has over ${maxPages * pageSize} newer posts, too many to look through.`;
  return new NetworkError('unconfirmed', message, { taken: 'unknown' });
}

const page = (
  access: Access,
  accountId: string,
  query: Record<string, string>,
  purpose: 'prepare' | 'reconcile',
): Promise<Status[]> => {
  const search = new URLSearchParams({ ...query, exclude_reblogs: 'true' });
  const path = `/api/v1/accounts/${encodeURIComponent(accountId)}/statuses?${search}`;
  return getAs(access, path, purpose, readStatuses);
};

/**
 * Creates one status. Must not be repeated on its own: only Mastodon heeds the key, for about an hour.
 *
 * @param mediaIds Of files that were uploaded for it.
 * @throws NetworkError
 */
export async function createStatus(
  access: Access,
  part: PreparedPart,
  parent: SentPart | undefined,
  mediaIds: readonly string[],
): Promise<SentPart> {
  const { visibility, spoilerText, isSensitive, language } = choiceOf(part.options);
  const response = await create(access, '/api/v1/statuses', part.key, {
    status: part.text,
    visibility,
    ...(spoilerText !== undefined && { spoiler_text: spoilerText }),
    ...(isSensitive !== undefined && { sensitive: isSensitive }),
    ...(language !== undefined && { language }),
    ...(mediaIds.length > 0 && { media_ids: mediaIds }),
    ...(parent && { in_reply_to_id: parent.remoteId }),
  });
  if (response.status !== 200) {
    throw refusal(response, {
      purpose: 'create',
      accessToken: access.accessToken,
      isReply: parent !== undefined,
    });
  }

  const status = readStatus(jsonOf(response));
  if (!status) {
    throw unreadable('create');
  }
  return sentPartOf(status);
}

export const sentPartOf = (status: Status): SentPart => ({
  remoteId: status.id,
  url: status.url ?? status.uri,
});
