import { deleteUnused } from '../../db/media-use.ts';
import { abandonUnclaimed, deletedWithBytes } from '../../db/repositories/media.ts';
import { describeError } from '../../runtime/logger.ts';
import { repeat } from '../../runtime/timers.ts';
import type { ServiceDeps } from '../deps.ts';
import { removeBytes } from './store-files.ts';

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

const everyMs = 60 * 60_000;

/** Files per statement or transaction, to keep locks short. */
const batch = 100;

/** After this many failed removals the storage counts as unavailable, and the rest waits for the next sweep. */
const mostFailures = 20;

/**
 * Removes files that a crash, a lost response or a storage outage left behind. A failed step does not stop the others.
 */
export async function sweepMedia(deps: Deps): Promise<void> {
  const { log, media } = deps;
  const pass = (what: string, step: () => Promise<unknown>): Promise<unknown> =>
    step().catch((error: unknown) => log.warn({ error: describeError(error) }, what));

  await pass('sweep of the staging folder failed', () =>
    media.staging.sweep((file, error) =>
      log.warn({ error: describeError(error), file }, 'staged file not removed'),
    ),
  );
  await pass('unused files not deleted', () => removeUnused(deps, media.keepUnusedDays));
  await pass('unclaimed files not removed', () => removeStale(deps));
}

/** Removes files that a request began to store more than an hour ago, and the bytes of deleted files. */
async function removeStale(deps: Deps): Promise<void> {
  const em = deps.orm.em.fork();
  await abandonUnclaimed(em);
  for (let failures = 0, after = '00000000-0000-0000-0000-000000000000'; ;) {
    const ids = await deletedWithBytes(em, after, batch);
    failures += await removeBytes(deps, ids);
    const last = ids.at(-1);
    if (last === undefined || failures >= mostFailures) {
      return;
    }

    after = last;
  }
}

export const keepSwept = (deps: Deps) =>
  repeat(async () => {
    await sweepMedia(deps);
    return everyMs;
  });

/** Limit per sweep; the rest follows in the next ones. */
const mostBatches = 100;

/** Deletes files that are older than `days` and unused, as `DELETE /media/{id}` does. */
async function removeUnused(deps: Deps, days: number): Promise<void> {
  if (days === 0) {
    return;
  }

  for (let round = 0; round < mostBatches; round += 1) {
    const ids = await deps.orm.em.fork().transactional((em) => deleteUnused(em, days, batch));
    if (ids.length === 0) {
      return;
    }

    deps.log.info({ files: ids }, `deleted files unused for ${days} days`);
    await removeBytes(deps, ids);
  }
}
