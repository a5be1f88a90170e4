import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Logger } from './logger.ts';

/** In milliseconds. */
const firstWaitMs = 250;
const longestWaitMs = 5000;

/**
 * Does something that works as soon as another process is up. That one may come up later than this one, so it
 * is tried until it works rather than ending the process, and each failure is a line in the log.
 *
 * @param what Whom it waits for: `the database`.
 */
export async function retryUntilReady<T>(
  what: string,
  work: () => Promise<T>,
  log: Logger,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await work();
    } catch (error) {
      log.warn({ error: describeError(error) }, `waiting for ${what}`);
      await sleep(waitMs);
    }
  }
}

/**
 * For `catch`: ends the process at errors that no waiting mends and with which going on would do harm. Others are
 * thrown on.
 */
export const fatalAt =
  (log: Logger, ...kinds: readonly (abstract new (...given: never[]) => Error)[]) =>
  (error: unknown): never => {
    if (kinds.some((kind) => error instanceof kind)) {
      log.fatal({ error: describeError(error) }, 'cannot go on');
      process.exit(1);
    }

    throw error;
  };
