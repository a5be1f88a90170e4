import { DefaultLogger, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from '../runtime/logger.ts';
import { isExpectedFailure } from '../workflows/failures.ts';

const levels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const;

/**
 * Forwards Temporal's messages to the log. Drops errors: `redactErrors` logs a failed activity, and Temporal's line
 * would contain the full error.
 */
export function temporalLogger(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message.startsWith('No workflows registered')) {
      return; // Expected for workers without workflows.
    }

    const { error, ...rest } = meta ?? {};
    const name = error instanceof Error ? error.name : undefined;
    if (
      message === 'Workflow failed' &&
      error instanceof Error &&
      isExpectedFailure(error.message)
    ) {
      log.info({ workflow: rest['workflowId'] }, error.message); // Only ids and codes. The worker is not at fault.
      return;
    }

    log[levels[level]]({ temporal: { ...rest, error: name } }, message);
  });
}
