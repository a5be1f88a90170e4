import { isDatabaseUnavailable } from '../../db/database-errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { markAccessLost } from '../../services/channels/mark-access.ts';
import { isReconnected, NewTokenError } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  askNetwork,
  loadAccount,
  readFollowers,
  type ReadAccount,
  type RefreshContext,
} from './ask-network.ts';
import {
  giveBackReads,
  lostAccessDelayMs,
  nextMonthAt,
  postponeAll,
  rescheduleTo,
  reserveReads,
  type Claimed,
  type DueRow,
} from './due-reads.ts';
import { addCounts, noCounts, recordWithRetries, type RefreshCounts } from './record-readings.ts';

/**
 * Reads the metrics of posts of one channel, in batches. Network errors are recorded for this channel only; its posts
 * keep their metrics.
 *
 * @param rows At least one, all of one channel.
 * @throws if the database fails.
 */
export async function readChannel(
  refreshing: RefreshContext,
  rows: readonly DueRow[],
  lease: Claimed['lease'],
): Promise<RefreshCounts> {
  const { deps, reader, isOver } = refreshing;
  const [{ workspaceId, channelId } = { workspaceId: '', channelId: '' }] = rows;
  const account = await loadAccount(deps, workspaceId, channelId);
  if (account === null) {
    await rescheduleTo(deps, rows, lease, new Date(deps.now().getTime() + lostAccessDelayMs));
    return { ...noCounts, postponed: rows.length };
  }

  let counts = noCounts;
  for (let from = 0; from < rows.length; from += reader.batchSize) {
    const rest = rows.slice(from);
    if (isOver()) {
      await rescheduleTo(deps, rest, lease, deps.now());
      return addCounts(counts, { left: rest.length });
    }

    const batch = rest.slice(0, reader.batchSize);
    const reservedAt = deps.now();
    const granted = await grantedReads(refreshing, account, batch.length);
    const read = await readBatch(refreshing, account, {
      batch: batch.slice(0, granted),
      rest,
      lease,
      reservedAt,
    });
    counts = addCounts(counts, read.counts);
    if (granted < batch.length && read.goesOn) {
      const unread = rest.slice(granted);
      await rescheduleTo(deps, unread, lease, nextMonthAt(deps.now()));
      return addCounts(counts, { postponed: unread.length });
    }

    if (!read.goesOn) {
      return counts;
    }
  }

  await readFollowers(refreshing, account);
  return counts;
}

const grantedReads = async (
  { deps, reader: { readsPerMonth } }: RefreshContext,
  account: ReadAccount,
  wanted: number,
): Promise<number> =>
  readsPerMonth === null ? wanted : reserveReads(deps, account, readsPerMonth, wanted);

type Batched = {
  readonly batch: readonly DueRow[];
  /** The batch and all later posts. */
  readonly rest: readonly DueRow[];
  readonly lease: Date;
  /** Time before the reads were taken from the budget. */
  readonly reservedAt: Date;
};

/** @returns the counts, and whether the channel's next batch may be read. */
async function readBatch(
  refreshing: RefreshContext,
  account: ReadAccount,
  { batch, rest, lease, reservedAt }: Batched,
): Promise<{ readonly counts: Partial<RefreshCounts>; readonly goesOn: boolean }> {
  if (batch.length === 0) {
    return { counts: {}, goesOn: true };
  }

  const { deps, reader, everyMs, stopped, askTimeoutMs: timeoutMs, requestedAtMs } = refreshing;
  const { workspaceId } = account;
  const readAt = deps.now();
  let isMade = false;
  try {
    const remoteIds = batch.map(({ remoteId }) => remoteId);
    const readings = await askNetwork(
      { deps, account, stopped, timeoutMs, requestedAtMs },
      async (at) => {
        isMade = true;
        try {
          return await reader.read(at, remoteIds);
        } catch (error) {
          isMade = !isRefusal(error);
          throw error;
        }
      },
    );
    const toRecord = { workspaceId, rows: batch, lease, readAt, everyMs, readings };
    return { counts: await recordWithRetries(refreshing, toRecord), goesOn: true };
  } catch (error) {
    if (!isMade && reader.readsPerMonth !== null) {
      await giveBackReads(deps, account.platform, reservedAt, batch.length);
    }

    return handleReadFailure(refreshing, account, { error, batch, rest, lease });
  }
}

/** The network refused the request, so no posts were read and nothing is charged: reads are counted in posts. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  ['access_lost', 'permission_missing', 'rate_limited'].includes(error.code);

/** Delays until the next read, in milliseconds. */
const [soonMs, failedMs, refusedMs] = [60_000, 15 * 60_000, 3_600_000];

type Failed = {
  readonly error: unknown;
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
async function handleReadFailure(
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
  const isWait = ['rate_limited', 'paced'].includes(error.code);
  const count = isWait || isLost ? 'postponed' : 'failed';
  return { counts: { [count]: rest.length }, goesOn: false };
}

/** The error concerns the requested posts, so other posts of the channel can be read. */
const isOfPosts = ({ code }: NetworkError): boolean =>
  !['rate_limited', 'paced', 'network_unavailable', 'access_lost', 'permission_missing'].includes(
    code,
  );

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
