import { describeError, type Logger } from './logger.ts';

/**
 * Logs an unhandled rejection and continues, so that one forgotten promise does not stop all other work. Exits after an
 * uncaught exception, which leaves work half done; the supervisor restarts the process.
 */
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
