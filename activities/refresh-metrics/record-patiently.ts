import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseAway } from '../../db/is-away.ts';
import { isConflict } from '../../db/is-conflict.ts';
import { recordReadings, type Batch } from './record-readings.ts';
import type { Refreshing } from './refreshing.ts';

/** In milliseconds: a failover, or a restart of PostgreSQL. The activity has this long after its last read. */
const patienceMs = 20_000;
const [firstWaitMs, longestWaitMs] = [250, 5000];

/**
 * Records what was read, and tries again while the database is away: the readings may have cost something, and would be
 * made once more otherwise. Safe to repeat, also where only the answer to a commit was lost.
 *
 * @throws the last error when that takes too long, or the worker stops.
 */
export async function recordPatiently(
  { deps, stopped }: Pick<Refreshing, 'deps' | 'stopped'>,
  batch: Batch,
): ReturnType<typeof recordReadings> {
  const startedMs = performance.now();
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await recordReadings(deps, batch);
    } catch (error) {
      const isOver = stopped.aborted || performance.now() - startedMs >= patienceMs;
      if (isOver || !(isDatabaseAway(error) || isConflict(error))) {
        throw error;
      }

      await sleep(waitMs);
    }
  }
}
