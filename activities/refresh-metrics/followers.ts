import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import { askNetwork } from './ask-network.ts';
import type { ReadAccount } from './load-account.ts';
import type { Refreshing } from './refreshing.ts';

/** How often a channel's followers are asked for, in milliseconds. */
const everyMs = 24 * 3_600_000;

/** The largest `integer` of PostgreSQL. */
const most = 2 ** 31 - 1;

/**
 * Once a day, beside its posts. A network that does not answer is asked again with the next posts. An answer to an older
 * question than the one that is recorded changes nothing.
 */
export async function readFollowers(
  { deps, reader, stopped, askTimeoutMs }: Refreshing,
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
    const told = await askNetwork(asking, (connection) => reader.followers?.(connection) ?? null);
    const count =
      Number.isSafeInteger(told) && Number(told) >= 0 ? Math.min(Number(told), most) : null;
    await query(
      deps.orm.em.fork(),
      sql`update channels set followers = ${count}::int, followers_updated_at = ${askedAt}
        where id = ${channelId} and workspace_id = ${workspaceId}
          and (followers_updated_at is null or followers_updated_at < ${askedAt})`,
    );
  } catch (error) {
    deps.log.info({ channelId, error: describeError(error) }, 'followers of a channel: no answer');
  }
}
