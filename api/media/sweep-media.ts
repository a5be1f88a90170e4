import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';
import { compareStorage } from './compare-storage.ts';
import { removeUnused } from './remove-unused.ts';
import { giveUpStale, removeLost } from './unsettled-files.ts';

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

const everyMs = 60 * 60_000;

/** How many files are given up by one statement. */
const batch = 100;

/** So many files that cannot be removed mean that the storage is away: the others wait for the next sweep. */
const mostFailures = 20;

/**
 * Makes up for what a crash, a lost answer or a storage that was away left behind. Each step goes on where another
 * cannot.
 */
export async function sweepMedia(deps: Deps): Promise<void> {
  const { log, media } = deps;
  const pass = (what: string, step: () => Promise<unknown>): Promise<unknown> =>
    step().catch((error: unknown) => log.warn({ error: describeError(error) }, what));

  await pass('the staging folder could not be swept', () =>
    media.staging.sweep((file, error) =>
      log.warn({ error: describeError(error), file }, 'a staged file could not be removed'),
    ),
  );
  await pass('files that no post has could not be deleted', () =>
    removeUnused(deps, media.keepUnusedDays),
  );
  await pass('files that nobody took could not be removed', () => removeStale(deps));
  await pass('the media storage could not be compared with the library', () =>
    compareStorage(deps),
  );
}

async function removeStale(deps: Deps): Promise<void> {
  for (let failures = 0; failures < mostFailures;) {
    const ids = await giveUpStale(deps.orm.em.fork(), batch);
    failures += await removeLost(deps, ids);
    if (ids.length < batch) {
      return;
    }
  }
}

/** Sweeps now and every hour. @returns a function that ends it. */
export function keepSwept(deps: Deps): () => void {
  let isSweeping = false;
  const sweep = async (): Promise<void> => {
    if (!isSweeping) {
      isSweeping = true;
      await sweepMedia(deps);
      isSweeping = false;
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  return () => clearInterval(timer);
}
