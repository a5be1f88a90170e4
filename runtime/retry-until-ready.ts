import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Logger } from './logger.ts';

/** In milliseconds. */
const firstWaitMs = 250;
const longestWaitMs = 5000;

/** Why this process cannot work with another one. */
export type Trouble = {
  /** A sentence that names the setting. */
  readonly reason: string;
  /** Only a person can end this trouble. The process ends when it has lasted for so long, in milliseconds. */
  readonly finalAfterMs?: number;
};

/** @returns undefined for an error of an unknown kind. */
export type Explain = (error: unknown) => Promise<Trouble | undefined> | Trouble | undefined;

/**
 * Does something that works as soon as another process is up. That one may come up later than this one, so it
 * is tried until it works, and each failure is a line in the log. A trouble that only a person can end ends the process.
 *
 * @param what Whom it waits for: `the database`.
 */
export async function retryUntilReady<T>(
  what: string,
  work: () => Promise<T>,
  log: Logger,
  explain: Explain,
): Promise<T> {
  let current = { reason: '', sinceMs: 0 };
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await work();
    } catch (error) {
      const trouble = await explain(error);
      const { reason = '', finalAfterMs = Infinity } = trouble ?? {};
      if (reason !== current.reason) {
        current = { reason, sinceMs: performance.now() };
      }

      if (performance.now() - current.sinceMs >= finalAfterMs) {
        log.fatal({}, reason);
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
