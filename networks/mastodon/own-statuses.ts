import { NetworkError } from '../network.ts';
import { readStatuses, type Status } from './answers.ts';
import { getAs, type Access } from './client.ts';

const pageSize = 40;
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
 * @throws NetworkError `unconfirmed` when there are too many to see them all.
 */
export async function ownStatusesSince(
  access: Access,
  accountId: string,
  sinceId: string | null,
): Promise<Status[]> {
  const found = new Map<string, Status>();
  let cursor: Record<string, string> = sinceId === null ? {} : { min_id: sinceId };
  for (let pages = 0; pages < maxPages; pages += 1) {
    const query = { limit: String(pageSize), ...cursor };
    // Each page lists its newest status first, whichever way the pages go.
    const statuses = await page(access, accountId, query, 'look');
    const newest = statuses.at(0);
    const oldest = statuses.at(-1);
    if (!newest || !oldest) {
      const oldestFirst = [...found.values()];
      return sinceId === null ? oldestFirst.toReversed() : oldestFirst;
    }

    const inOrder = sinceId === null ? statuses : statuses.toReversed();
    for (const status of inOrder) {
      found.set(status.id, status);
    }
    cursor = sinceId === null ? { max_id: oldest.id } : { min_id: newest.id };
  }

  const message = `The account has over ${maxPages * pageSize} newer posts, too many to look through.`;
  throw new NetworkError('unconfirmed', message, { taken: 'unknown' });
}

const page = (
  access: Access,
  accountId: string,
  query: Record<string, string>,
  purpose: 'prepare' | 'look',
): Promise<Status[]> => {
  const search = new URLSearchParams({ ...query, exclude_reblogs: 'true' });
  const path = `/api/v1/accounts/${encodeURIComponent(accountId)}/statuses?${search}`;
  return getAs(access, path, purpose, readStatuses);
};
