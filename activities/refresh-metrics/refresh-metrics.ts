import { cancellationSignal } from '@temporalio/activity';
import type { ActivityDeps } from '../deps.ts';
import type { RefreshCounts } from './ask-network.ts';
import { claimDue, type DueRow } from './due-reads.ts';
import { readChannel } from './read-channel.ts';

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
