import { cancellationSignal } from '@temporalio/activity';
import type { ActivityDeps } from '../deps.ts';
import {
  type RefreshCounts,
  askNetwork,
  loadAccount,
  readFollowers,
  type ReadAccount,
  type RefreshContext,
} from './ask-network.ts';
import {
  claimDue,
  type DueRow,
  giveBackReads,
  lostAccessDelayMs,
  nextMonthAt,
  rescheduleTo,
  reserveReads,
} from './due-reads.ts';
import { isDatabaseUnavailable } from '../../db/database-errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { loseAccess, NewTokenError } from '../channel-account.ts';
import { recordWithRetries } from './record-readings.ts';

/** Reads the metrics of posts of one channel, in batches. @param rows At least one. @throws if the database fails. */
async function readChannel(refreshing: RefreshContext, rows: readonly DueRow[]): Promise<void> {
  const { deps, reader, isOver, counts } = refreshing;
  const [{ workspaceId, channelId } = { workspaceId: '', channelId: '' }] = rows;
  const account = await loadAccount(deps, workspaceId, channelId);
  if (account === null) {
    await rescheduleTo(deps, rows, new Date(deps.now().getTime() + lostAccessDelayMs));
    counts.postponed += rows.length;
    return;
  }

  for (let from = 0; from < rows.length; from += reader.batchSize) {
    const rest = rows.slice(from);
    if (isOver()) {
      await rescheduleTo(deps, rest, deps.now());
      counts.left += rest.length;
      return;
    }

    const wanted = Math.min(rest.length, reader.batchSize);
    const granted =
      reader.readsPerMonth === null
        ? wanted
        : await reserveReads(deps, account, reader.readsPerMonth, wanted);
    if (granted > 0 && !(await readBatch(refreshing, account, granted, rest))) {
      return;
    }

    if (granted < wanted) {
      const unread = rest.slice(granted);
      await rescheduleTo(deps, unread, nextMonthAt(deps.now()));
      counts.postponed += unread.length;
      return;
    }
  }

  await readFollowers(refreshing, account);
}

/** @returns whether the channel's next batch may be read. */
async function readBatch(
  refreshing: RefreshContext,
  account: ReadAccount,
  granted: number,
  rest: readonly DueRow[],
): Promise<boolean> {
  const { deps, reader } = refreshing;
  const batch = rest.slice(0, granted);
  const readAt = deps.now();
  let isMade = false;
  try {
    const remoteIds = batch.map(({ remoteId }) => remoteId);
    const readings = await askNetwork(refreshing, account, async (at) => {
      isMade = true;
      try {
        return await reader.read(at, remoteIds);
      } catch (error) {
        isMade = !isRefusal(error);
        throw error;
      }
    });
    await recordWithRetries(refreshing, account.workspaceId, { rows: batch, readAt, readings });
    return true;
  } catch (error) {
    if (!isMade && reader.readsPerMonth !== null) {
      await giveBackReads(deps, account.platform, readAt, batch.length);
    }

    return handleReadFailure(refreshing, account, error, batch, rest);
  }
}

/** The network refused the request, so no posts were read and nothing is charged: reads are counted in posts. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  ['access_lost', 'permission_missing', 'rate_limited'].includes(error.code);

const [soonMs, failedMs, refusedMs] = [60_000, 15 * 60_000, 3_600_000];

/**
 * Postpones posts that could not be read; they keep their metrics.
 *
 * @returns whether the channel's next batch may be read.
 * @throws the error if the database is unavailable; the rows are due again when their lease ends.
 */
async function handleReadFailure(
  { deps, stopped, counts }: RefreshContext,
  account: ReadAccount,
  error: unknown,
  batch: readonly DueRow[],
  rest: readonly DueRow[],
): Promise<boolean> {
  // A server that is away has the codes of a database that is away among its causes.
  if (!(error instanceof NetworkError) && isDatabaseUnavailable(error)) {
    throw error;
  }

  const nowMs = deps.now().getTime();
  if (stopped.aborted || error instanceof NewTokenError) {
    await rescheduleTo(deps, rest, deps.now());
    counts.left += rest.length;
    return false;
  }

  logFailure(deps, account, error);
  if (!(error instanceof NetworkError) || isOfPosts(error)) {
    await rescheduleTo(deps, batch, new Date(nowMs + refusedMs));
    counts.failed += batch.length;
    return true;
  }

  const isLost =
    error.code === 'access_lost' &&
    (await deps.orm.em.fork().transactional((em) => loseAccess(em, deps, account, error.message)));
  const until = new Date(untilOf(error, isLost, nowMs));
  await rescheduleTo(deps, rest, until);
  const isWait = ['rate_limited', 'paced'].includes(error.code);
  // The other posts of the channel, or of the limit's scope, wait too. After another failure they do not: it may have ended.
  if (isWait) {
    const scope = error.code === 'rate_limited' ? error.limit : 'channel';
    deps.limits.reads.add(account, { scope, untilMs: until.getTime() }, nowMs);
  }

  counts[isWait || isLost ? 'postponed' : 'failed'] += rest.length;
  return false;
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

function logFailure({ log }: ActivityDeps, account: ReadAccount, error: unknown): void {
  const where = { network: account.platform, channel: account.channelId };
  if (error instanceof NetworkError && error.code !== 'internal') {
    log.info({ ...where, code: error.code }, 'metrics of a channel could not be read');
  } else {
    log.error(
      { ...where, error: describeError(error) },
      'internal error while reading metrics of a channel, the read is retried',
    );
  }
}

export type RefreshRequest = {
  readonly network: string;
  /** Only this post, on request; otherwise all due posts. */
  readonly post?: { readonly workspaceId: string; readonly postId: string };
};

/** Number of channels that are read concurrently. A channel that hangs blocks one of them for a minute at most. */
const width = 16;

/** In milliseconds. No read begins after it, so the activity ends well below its startToCloseTimeout. */
const longestMs = 3.5 * 60_000;

/** In milliseconds, for all requests of one adapter call. A channel that hangs is skipped after it. */
const askTimeoutMs = 60_000;

/** In milliseconds; tests shorten them. */
export type RefreshTimes = { readonly longestMs: number; readonly askTimeoutMs: number };

/** Reads the metrics of all due posts of a network. Safe to repeat and to run concurrently: rows are claimed. */
export async function refreshMetrics(
  deps: ActivityDeps,
  { network, post }: RefreshRequest,
  times: RefreshTimes = { longestMs, askTimeoutMs },
): Promise<RefreshCounts> {
  const { metrics: reader, rules } = deps.networks[network] ?? {};
  const stopped = cancellationSignal();
  const endMs = performance.now() + times.longestMs;
  const isOver = (): boolean => stopped.aborted || performance.now() >= endMs;
  const everyMs = rules?.metricsEveryMs ?? 0;
  const claiming = { platform: network, everyMs: reader ? everyMs : null, post: post ?? null };
  const requestedAtMs = post ? deps.now().getTime() : null;
  const counts: RefreshCounts = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };
  const { askTimeoutMs: ask } = times;
  const refreshing = { deps, everyMs, stopped, isOver, askTimeoutMs: ask, requestedAtMs, counts };
  const failures: unknown[] = [];
  const running = new Map<string, Promise<unknown>>();
  const begin = (channelId: string, rows: readonly DueRow[]): void => {
    const reading = reader ? readChannel({ ...refreshing, reader }, rows) : Promise.resolve();
    running.set(
      channelId,
      reading
        .catch((error: unknown) => failures.push(error))
        .finally(() => running.delete(channelId)),
    );
  };

  while (!isOver() && failures.length === 0) {
    const busyChannels = [...running.keys()];
    const { rows, postponed } = await claimDue(deps, { ...claiming, busyChannels });
    counts.postponed += postponed;
    for (const [channelId, ofChannel] of Map.groupBy(rows, (row) => row.channelId)) {
      while (running.size >= width) {
        await Promise.race(running.values());
      }

      begin(channelId, ofChannel);
    }

    if (rows.length + postponed === 0) {
      // A channel that was busy may have posts that are due again, for example after a new access token.
      if (busyChannels.length === 0) {
        break;
      }

      if (running.size > 0) {
        await Promise.race(running.values());
      }
    }
  }

  await Promise.all(running.values());
  if (failures.length > 0) {
    throw failures[0];
  }

  return counts;
}
