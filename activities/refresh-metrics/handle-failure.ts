import { markAccessLost } from '../../accounts/mark-access.ts';
import { isDatabaseUnavailable } from '../../db/is-unavailable.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { isReconnected } from '../account/channel-account.ts';
import { NewTokenError } from '../account/refused-token.ts';
import type { ActivityDeps } from '../deps.ts';
import type { DueRow } from './claim-due.ts';
import type { RefreshCounts } from './counts.ts';
import type { ReadAccount } from './load-account.ts';
import { rescheduleTo, postponeAll } from './postpone.ts';
import type { RefreshContext } from './refresh-context.ts';

/** Delays until the next read, in milliseconds. */
const [soonMs, failedMs, refusedMs] = [60_000, 15 * 60_000, 3_600_000];

type Failed = {
  readonly error: unknown;
  /** Posts of the failed call. */
  readonly batch: readonly DueRow[];
  /** Posts of the failed call and all later ones. */
  readonly rest: readonly DueRow[];
  readonly lease: Date;
};

type FailureOutcome = { readonly counts: Partial<RefreshCounts>; readonly goesOn: boolean };

/**
 * Postpones posts that could not be read; they keep their metrics. A rate limit met while reading delays reads only,
 * never publishing.
 *
 * @throws the error if the database is unavailable; the rows are due again when their lease ends.
 */
export async function handleReadFailure(
  { deps, stopped }: RefreshContext,
  account: ReadAccount,
  { error, batch, rest, lease }: Failed,
): Promise<FailureOutcome> {
  if (isDatabaseUnavailable(error)) {
    throw error;
  }

  const nowMs = deps.now().getTime();
  if (stopped.aborted || error instanceof NewTokenError) {
    await rescheduleTo(deps, rest, lease, deps.now());
    return { counts: { left: rest.length }, goesOn: false };
  }

  logFailure(deps, account, error);
  if (!(error instanceof NetworkError) || isOfPosts(error)) {
    await rescheduleTo(deps, batch, lease, new Date(nowMs + refusedMs));
    return { counts: { failed: batch.length }, goesOn: true };
  }

  const isLost =
    error.code === 'access_lost' && (await markLostUnlessReconnected(deps, account, error));
  const until = new Date(untilOf(error, isLost, nowMs));
  await rescheduleTo(deps, rest, lease, until);
  const limit = error.code === 'rate_limited' ? error.limit : 'channel';
  await postponeAll(deps.orm.em.fork(), account, limit, until);
  const count = error.code === 'rate_limited' || isLost ? 'postponed' : 'failed';
  return { counts: { [count]: rest.length }, goesOn: false };
}

/** The error concerns the requested posts, so other posts of the channel can be read. */
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

/** @returns whether the channel lost its access; false if the account was connected again meanwhile. */
const markLostUnlessReconnected = (
  deps: ActivityDeps,
  account: ReadAccount,
  { message }: NetworkError,
): Promise<boolean> =>
  deps.orm.em.fork().transactional(async (em) => {
    if (await isReconnected(em, account)) {
      return false;
    }

    await markAccessLost(em, deps, account, `${message} Connect the channel again.`, 'outbox');
    return true;
  });

function logFailure({ log }: ActivityDeps, account: ReadAccount, error: unknown): void {
  const { platform, channelId } = account;
  if (error instanceof NetworkError && error.code !== 'internal') {
    log.info({ platform, channelId, code: error.code }, 'metrics of a channel could not be read');
  } else {
    log.error(
      { platform, channelId, error: describeError(error) },
      'internal error while reading metrics of a channel, the read is retried',
    );
  }
}
