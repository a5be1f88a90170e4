import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { beat, noteBehind, readBeats, restoredDatabase } from '../db/beats.ts';
import type { Orm } from '../db/orm.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/repeat.ts';
import { retryUntilReady, type Explain } from '../runtime/retry-until-ready.ts';
import { knownBeats, tellBeats } from '../temporal/known-beats.ts';

export type Place = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

/** In milliseconds. */
const lookMs = 2000;

/** Before this process polls: waits while the database is older than Temporal's count. */
export async function untilNotBehind(place: Place, explain: Explain): Promise<void> {
  const { log } = place;
  for (let isSaid = false; ; isSaid = true) {
    const look = () => isBehind(place);
    if (!(await retryUntilReady('Temporal and the database', look, log, explain))) {
      return;
    }

    if (!isSaid) {
      log.error(restoredDatabase);
    }

    await sleep(lookMs);
  }
}

/**
 * Counts each minute, in the database and then in Temporal, and ends the process when the database is older than
 * Temporal's count: what was published since would go out a second time.
 *
 * @returns a function that stops it.
 */
export function keepBeating({ orm, client, log }: Place): () => Promise<void> {
  return repeat(async () => {
    await beatIfDue({ orm, client, log }).catch((error: unknown) =>
      log.debug({ error: describeError(error) }, 'this worker could not count'),
    );
    return lookMs;
  }).stop;
}

/** A restored database is due at once, since its last count is old. */
async function beatIfDue(place: Place): Promise<void> {
  const { orm, client, log } = place;
  const { installation, count, isDue, behindSince } = await readBeats(orm);
  if (behindSince !== null || (isDue && (await isBehind(place)))) {
    log.fatal(restoredDatabase);
    process.exit(1);
  }

  const next = isDue ? await beat(orm, count) : null;
  if (next !== null) {
    await tellBeats(client, installation, next);
  }
}

/** Reads Temporal before the database: workers count in the database first, so it is never behind while they do. */
async function isBehind({ orm, client }: Place): Promise<boolean> {
  const { installation } = await readBeats(orm);
  await noteBehind(orm, (await knownBeats(client, installation)) ?? 0);
  return (await readBeats(orm)).behindSince !== null;
}
