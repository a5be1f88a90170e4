import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';
import { settleFiles } from './settle-files.ts';

const everyMs = 60 * 60_000;

/** Makes up for what a crash left in the staging folder and in the storage, more than an hour ago. */
export async function sweepMedia(deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>): Promise<void> {
  try {
    await settleFiles(deps, await deps.media.staging.sweep());
  } catch (error) {
    deps.log.warn({ error: describeError(error) }, 'the media folder could not be swept');
  }
}

/** Sweeps now and every hour. @returns a function that ends it. */
export function keepSwept(deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>): () => void {
  void sweepMedia(deps);
  const timer = setInterval(() => void sweepMedia(deps), everyMs);
  return () => clearInterval(timer);
}
