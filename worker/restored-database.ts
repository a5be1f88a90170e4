import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Orm } from '../db/orm.ts';
import {
  incrementRestoreCounter,
  markDatabaseBehind,
  readRestoreCounter,
  restoredDatabase,
} from '../db/restore-counter.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady, type Explain } from '../runtime/process.ts';
import { repeat } from '../runtime/timers.ts';
import { loadStoredCounter, storeCounter } from '../temporal/namespace.ts';

type RestoreCounterDeps = {
  readonly orm: Orm;
  readonly client: Client;
  readonly log: Logger;
};

const pollIntervalMs = 2000;

/** Waits, before the worker polls, while the database is older than Temporal's count. */
export async function waitUntilDatabaseIsCurrent(
  place: RestoreCounterDeps,
  explain: Explain,
): Promise<void> {
  const { log } = place;
  for (let isLogged = false; ; isLogged = true) {
    const checkBehind = () => isBehind(place);
    if (!(await retryUntilReady('Temporal and the database', checkBehind, log, explain))) {
      return;
    }

    if (!isLogged) {
      log.error(restoredDatabase);
    }

    await sleep(pollIntervalMs);
  }
}

/**
 * Counts each minute, in the database and then in Temporal. Ends the process if the database is older than Temporal's
 * count, because posts published since would be published twice. @returns a function that stops it.
 */
export function keepRestoreCounter({ orm, client, log }: RestoreCounterDeps): () => Promise<void> {
  return repeat(async () => {
    await incrementIfDue({ orm, client, log }).catch((error: unknown) =>
      log.debug({ error: describeError(error) }, 'could not update the restore counter'),
    );
    return pollIntervalMs;
  }).stop;
}

/** A restored database is due at once, because its last count is old. */
async function incrementIfDue(place: RestoreCounterDeps): Promise<void> {
  const { orm, client, log } = place;
  const { installation, count, isDue, behindSince } = await readRestoreCounter(orm);
  if (behindSince !== null || (isDue && (await isBehind(place)))) {
    log.fatal(restoredDatabase);
    process.exit(1);
  }

  const next = isDue ? await incrementRestoreCounter(orm, count) : null;
  if (next !== null) {
    await storeCounter(client, installation, next);
  }
}

/** Reads Temporal before the database. Workers increment the database first, so it is never behind while they run. */
async function isBehind({ orm, client }: RestoreCounterDeps): Promise<boolean> {
  const { installation } = await readRestoreCounter(orm);
  await markDatabaseBehind(orm, (await loadStoredCounter(client, installation)) ?? 0);
  return (await readRestoreCounter(orm)).behindSince !== null;
}
