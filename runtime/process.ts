import { describeError, type Logger } from './logger.ts';

/**
 * Keeps one forgotten promise from ending a process with all its other work: a rejection that no code handles is a line
 * in the log. An exception that no code catches leaves code half done; then the process ends, and its supervisor starts
 * it again.
 */
export function surviveRejections(log: Logger): void {
  process.on('unhandledRejection', (error) => {
    log.error({ error: describeError(error) }, 'a failure that nobody waited for: going on');
  });
  process.on('uncaughtException', (error) => {
    log.fatal({ error: describeError(error) }, 'an exception that nobody caught: ending');
    process.exit(1);
  });
}

/** Resolves when the process is told to stop (SIGTERM, or Ctrl-C). A second time kills it at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => resolve());
    }
  });
}
