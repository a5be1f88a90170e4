import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseUnavailable } from '../../db/is-unavailable.ts';
import { isConflict } from '../../db/is-conflict.ts';
import { recordReadings, type Batch } from './record-readings.ts';
import type { RefreshContext } from './refresh-context.ts';

/** In milliseconds. Covers a failover or restart of PostgreSQL. The activity has this long after its last read. */
const retryForMs = 20_000;
const [firstWaitMs, longestWaitMs] = [250, 5000];

/**
 * Stores readings, and retries while the database is unavailable, because reading again may cost money. Safe to repeat,
 * also if the result of a commit was lost.
 *
 * @throws the last error after `retryForMs`, or when the worker stops.
 */
export async function recordWithRetries(
  { deps, stopped }: Pick<RefreshContext, 'deps' | 'stopped'>,
  batch: Batch,
): ReturnType<typeof recordReadings> {
  const startedMs = performance.now();
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await recordReadings(deps, batch);
    } catch (error) {
      const isOver = stopped.aborted || performance.now() - startedMs >= retryForMs;
      if (isOver || !(isDatabaseUnavailable(error) || isConflict(error))) {
        throw error;
      }

      await sleep(waitMs);
    }
  }
}
