import { askNetwork } from './ask-network.ts';
import { lostRestMs, type Claimed, type DueRow } from './claim-due.ts';
import { NetworkError } from '../../networks/network.ts';
import { addCounts, noCounts, type RefreshCounts } from './counts.ts';
import { readFollowers } from './followers.ts';
import { loadAccount, type ReadAccount } from './load-account.ts';
import { meetFailure } from './meet-failure.ts';
import { recordPatiently } from './record-patiently.ts';
import { moveTo } from './postpone.ts';
import type { Refreshing } from './refreshing.ts';
import { giveBackReads, nextMonthAt, reserveReads } from './reserve-reads.ts';

/**
 * Reads the figures of some posts of one channel, in batches. Whatever goes wrong is this channel's affair: it is written
 * down with its posts, whose figures stay.
 *
 * @param rows All of one channel, and one at least.
 * @throws when the database fails.
 */
export async function readChannel(
  refreshing: Refreshing,
  rows: readonly DueRow[],
  lease: Claimed['lease'],
): Promise<RefreshCounts> {
  const { deps, reader, isOver } = refreshing;
  const [{ workspaceId, channelId } = { workspaceId: '', channelId: '' }] = rows;
  const account = await loadAccount(deps, workspaceId, channelId);
  if (account === null) {
    await moveTo(deps, rows, lease, new Date(deps.now().getTime() + lostRestMs));
    return { ...noCounts, postponed: rows.length };
  }

  let counts = noCounts;
  for (let from = 0; from < rows.length; from += reader.batchSize) {
    const rest = rows.slice(from);
    if (isOver()) {
      await moveTo(deps, rest, lease, deps.now());
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
      await moveTo(deps, unread, lease, nextMonthAt(deps.now()));
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
  { deps, reader: { readsPerMonth } }: Refreshing,
  { platform }: ReadAccount,
  wanted: number,
): Promise<number> =>
  readsPerMonth === null ? wanted : reserveReads(deps, platform, readsPerMonth, wanted);

type Batched = {
  readonly batch: readonly DueRow[];
  /** The batch, and what is read after it. */
  readonly rest: readonly DueRow[];
  readonly lease: Date;
  /** Before its reads were taken from the budget. */
  readonly reservedAt: Date;
};

/** @returns what came of it, and whether the channel's next batch may be read. */
async function readBatch(
  refreshing: Refreshing,
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
    const told = { workspaceId, rows: batch, lease, readAt, everyMs, readings };
    return { counts: await recordPatiently(refreshing, told), goesOn: true };
  } catch (error) {
    if (!isMade && reader.readsPerMonth !== null) {
      await giveBackReads(deps, account.platform, reservedAt, batch.length);
    }

    return meetFailure(refreshing, account, { error, batch, rest, lease });
  }
}

/** The network answered, and handed out no post: reads are counted in posts. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  ['access_lost', 'permission_missing', 'rate_limited'].includes(error.code);
