import { askNetwork } from './ask-network.ts';
import { lostAccessDelayMs, type Claimed, type DueRow } from './claim-due.ts';
import { NetworkError } from '../../networks/network.ts';
import { addCounts, noCounts, type RefreshCounts } from './counts.ts';
import { readFollowers } from './followers.ts';
import { loadAccount, type ReadAccount } from './load-account.ts';
import { handleReadFailure } from './handle-failure.ts';
import { recordWithRetries } from './record-with-retries.ts';
import { rescheduleTo } from './postpone.ts';
import type { RefreshContext } from './refresh-context.ts';
import { giveBackReads, nextMonthAt, reserveReads } from './reserve-reads.ts';

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
  { platform }: ReadAccount,
  wanted: number,
): Promise<number> =>
  readsPerMonth === null ? wanted : reserveReads(deps, platform, readsPerMonth, wanted);

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

  const { deps, reader, everyMs, stopped, askTimeoutMs } = refreshing;
  const { workspaceId } = account;
  const readAt = deps.now();
  let isMade = false;
  try {
    const remoteIds = batch.map(({ remoteId }) => remoteId);
    const readings = await askNetwork(
      { deps, account, stopped, timeoutMs: askTimeoutMs },
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
