import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Logger } from './logger.ts';

/** In milliseconds. */
const firstWaitMs = 250;
const longestWaitMs = 5000;

/** Why another process cannot be worked with. */
export type Trouble = {
  /** A sentence that names the setting. */
  readonly reason: string;
  /** Only a person can end it: it ends the process if it lasts for so long, in milliseconds. */
  readonly finalAfterMs?: number;
};

/** @returns undefined for an error of an unknown kind. */
export type Explain = (error: unknown) => Promise<Trouble | undefined> | Trouble | undefined;

/**
 * Does something that works as soon as another process is up. That one may come up later than this one, so it
 * is tried until it works, and each failure is a line in the log. What no waiting mends ends the process.
 *
 * @param what Whom it waits for: `the database`.
 */
export async function retryUntilReady<T>(
  what: string,
  work: () => Promise<T>,
  log: Logger,
  explain: Explain,
): Promise<T> {
  const startedMs = performance.now();
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await work();
    } catch (error) {
      const trouble = await explain(error);
      if (trouble && performance.now() - startedMs >= (trouble.finalAfterMs ?? Infinity)) {
        log.fatal({}, trouble.reason);
        process.exit(1);
      }

      const why = trouble ? { reason: trouble.reason } : { error: describeError(error) };
      log.warn(why, `waiting for ${what}`);
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
