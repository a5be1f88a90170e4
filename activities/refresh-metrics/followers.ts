import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import { askNetwork } from './ask-network.ts';
import type { ReadAccount } from './load-account.ts';
import type { RefreshContext } from './refresh-context.ts';

/** Interval between reads of a channel's followers, in milliseconds. */
const everyMs = 24 * 3_600_000;

/** The largest `integer` of PostgreSQL. */
const most = 2 ** 31 - 1;

/**
 * Reads a channel's followers once a day, after its posts. A failed read is repeated with the next posts. A result
 * older than the stored one is dropped.
 */
export async function readFollowers(
  { deps, reader, stopped, askTimeoutMs }: RefreshContext,
  account: ReadAccount,
): Promise<void> {
  const { workspaceId, channelId, followersUpdatedAt } = account;
  const askedAt = deps.now();
  const { followers } = reader;
  const isKnown =
    followersUpdatedAt !== null && askedAt.getTime() - followersUpdatedAt.getTime() < everyMs;
  if (followers === undefined || isKnown) {
    return;
  }

  try {
    const asking = { deps, account, stopped, timeoutMs: askTimeoutMs };
    const answer = await askNetwork(asking, (connection) => reader.followers?.(connection) ?? null);
    const count =
      Number.isSafeInteger(answer) && Number(answer) >= 0 ? Math.min(Number(answer), most) : null;
    await query(
      deps.orm.em.fork(),
      sql`update channels set followers = ${count}::int, followers_updated_at = ${askedAt}
        where id = ${channelId} and workspace_id = ${workspaceId}
          and (followers_updated_at is null or followers_updated_at < ${askedAt})`,
    );
  } catch (error) {
    deps.log.info(
      { channelId, error: describeError(error) },
      'could not read followers of a channel',
    );
  }
}
