import { loseAccess } from '../../accounts/lose-access.ts';
import { isDatabaseAway } from '../../db/is-away.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { isReconnected } from '../account/channel-account.ts';
import { NewTokenError } from '../account/refused-token.ts';
import type { ActivityDeps } from '../deps.ts';
import type { DueRow } from './claim-due.ts';
import type { RefreshCounts } from './counts.ts';
import type { ReadAccount } from './load-account.ts';
import { moveTo, postponeAll } from './postpone.ts';
import type { Refreshing } from './refreshing.ts';

/** When it is tried again, in milliseconds. */
const [soonMs, failedMs, refusedMs] = [60_000, 15 * 60_000, 3_600_000];

type Failed = {
  readonly error: unknown;
  /** What was asked for. */
  readonly batch: readonly DueRow[];
  /** The same, and what was to be read after it. */
  readonly rest: readonly DueRow[];
  readonly lease: Date;
};

type Met = { readonly counts: Partial<RefreshCounts>; readonly goesOn: boolean };

/**
 * What follows when a batch could not be read: its posts keep their figures, and have another time. A limit of reading
 * delays reading only, never a post.
 *
 * @throws the error when the database is away: the rows come back when their lease is over.
 */
export async function meetFailure(
  { deps, stopped }: Refreshing,
  account: ReadAccount,
  { error, batch, rest, lease }: Failed,
): Promise<Met> {
  if (isDatabaseAway(error)) {
    throw error;
  }

  const nowMs = deps.now().getTime();
  if (stopped.aborted || error instanceof NewTokenError) {
    await moveTo(deps, rest, lease, deps.now());
    return { counts: { left: rest.length }, goesOn: false };
  }

  logFailure(deps, account, error);
  if (!(error instanceof NetworkError) || isOfPosts(error)) {
    await moveTo(deps, batch, lease, new Date(nowMs + refusedMs));
    return { counts: { failed: batch.length }, goesOn: true };
  }

  const isLost =
    error.code === 'access_lost' && (await loseUnlessReconnected(deps, account, error));
  const until = new Date(untilOf(error, isLost, nowMs));
  await moveTo(deps, rest, lease, until);
  const limit = error.code === 'rate_limited' ? error.limit : 'channel';
  await postponeAll(deps.orm.em.fork(), account, limit, until);
  const count = error.code === 'rate_limited' || isLost ? 'postponed' : 'failed';
  return { counts: { [count]: rest.length }, goesOn: false };
}

/** Something is wrong with what was asked for, so that other posts of the channel may be read. */
const isOfPosts = ({ code }: NetworkError): boolean =>
  !['rate_limited', 'network_unavailable', 'access_lost', 'permission_missing'].includes(code);

function untilOf({ code, retryAtMs }: NetworkError, isLost: boolean, nowMs: number): number {
  if (code === 'access_lost') {
    return nowMs + (isLost ? refusedMs : soonMs);
  }

  return code === 'permission_missing'
    ? nowMs + refusedMs
    : Math.max(nowMs + soonMs, retryAtMs ?? nowMs + failedMs);
}

/** @returns whether the channel's access is lost: not when the account was connected again meanwhile. */
const loseUnlessReconnected = (
  deps: ActivityDeps,
  account: ReadAccount,
  { message }: NetworkError,
): Promise<boolean> =>
  deps.orm.em.fork().transactional(async (em) => {
    if (await isReconnected(em, account)) {
      return false;
    }

    await loseAccess(em, deps, account, `${message} Connect the channel again.`, 'outbox');
    return true;
  });

function logFailure({ log }: ActivityDeps, account: ReadAccount, error: unknown): void {
  const { platform, channelId } = account;
  if (error instanceof NetworkError && error.code !== 'internal') {
    log.info({ platform, channelId, code: error.code }, 'metrics of a channel could not be read');
  } else {
    log.error(
      { platform, channelId, error: describeError(error) },
      'a fault of our own keeps metrics of a channel from being read; it is tried again',
    );
  }
}
