import { setTimeout as sleep } from 'node:timers/promises';
import { causesOf } from '../domain/errors.ts';
import { describeError, type Logger } from './logger.ts';

/** One forgotten promise does not stop all other work; an uncaught exception, which leaves work half done, does. */
export function logUnhandledErrors(log: Logger): void {
  process.on('unhandledRejection', (error) => {
    log.error({ error: describeError(error) }, 'unhandled rejection');
  });
  process.on('uncaughtException', (error) => {
    log.fatal({ error: describeError(error) }, 'uncaught exception, exiting');
    process.exit(1);
  });
}

/** Resolves at SIGTERM or SIGINT (Ctrl-C). A second signal kills the process. */
export function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => resolve());
    }
  });
}

const firstWaitMs = 250;
const longestWaitMs = 5000;

/** The reason why another server cannot be used. */
export type Trouble = {
  /** A sentence that names the setting. */
  readonly reason: string;
  /** Set when only an operator can fix it: the process exits when the trouble has lasted this long. */
  readonly finalAfterMs?: number;
};

/** @returns undefined for an error of an unknown kind. */
export type Explain = (error: unknown) => Promise<Trouble | undefined> | Trouble | undefined;

/** Retries work until another process is ready, `what` in the log. Exits when only an operator can fix the trouble. */
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

/** For `catch`: exits on errors of these kinds, or with such a cause, after which continuing would do harm. Rethrows others. */
export const fatalAt =
  (log: Logger, ...kinds: readonly (abstract new (...given: never[]) => Error)[]) =>
  (error: unknown): never => {
    if (causesOf(error).some((cause) => kinds.some((kind) => cause instanceof kind))) {
      log.fatal({ error: describeError(error) }, 'cannot continue, exiting');
      process.exit(1);
    }

    throw error;
  };
