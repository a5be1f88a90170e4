import { cancellationSignal } from '@temporalio/activity';
import type { ActivityDeps } from '../deps.ts';
import { claimDue, type Claiming, type DueRow } from './due-reads.ts';
import { readChannel } from './read-channel.ts';
import { addCounts, noCounts, type RefreshCounts } from './record-readings.ts';

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

/**
 * Reads the metrics of all due posts of a network, within `longestMs`. Safe to repeat and to run concurrently: rows are
 * claimed, and a dead worker's claims expire.
 */
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
  const { askTimeoutMs: timeoutMs } = times;
  const refreshing = { deps, everyMs, stopped, isOver, askTimeoutMs: timeoutMs, requestedAtMs };
  return refreshAll(deps, claiming, isOver, async (rows, lease) =>
    reader ? readChannel({ ...refreshing, reader }, rows, lease) : noCounts,
  );
}

type ReadRows = (rows: readonly DueRow[], lease: Date) => Promise<RefreshCounts>;

async function refreshAll(
  deps: ActivityDeps,
  claiming: Omit<Claiming, 'busyChannels'>,
  isOver: () => boolean,
  read: ReadRows,
): Promise<RefreshCounts> {
  let counts = noCounts;
  const failures: unknown[] = [];
  const running = new Map<string, Promise<void>>();
  const begin = (channelId: string, rows: readonly DueRow[], lease: Date): void => {
    const reading = read(rows, lease)
      .then(
        (done) => {
          counts = addCounts(counts, done);
        },
        (error: unknown) => {
          failures.push(error);
        },
      )
      .finally(() => running.delete(channelId));
    running.set(channelId, reading);
  };

  while (!isOver() && failures.length === 0) {
    const busyChannels = [...running.keys()];
    const { rows, lease, postponed } = await claimDue(deps, { ...claiming, busyChannels });
    counts = addCounts(counts, { postponed });
    for (const [channelId, ofChannel] of Map.groupBy(rows, (row) => row.channelId)) {
      while (running.size >= width) {
        await Promise.race(running.values());
      }

      begin(channelId, ofChannel, lease);
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
