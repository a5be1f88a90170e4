import { DefaultLogger, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from '../runtime/logger.ts';
import { isMeant } from '../workflows/failures.ts';

const levels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const;

/**
 * Temporal's own messages in our log. An activity that fails is logged by `redactErrors`; Temporal's line about the same
 * failure would quote the error whole.
 */
export function temporalLogger(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message.startsWith('No workflows registered')) {
      return; // As it should be for workers of activities alone.
    }

    const { error, ...rest } = meta ?? {};
    const name = error instanceof Error ? error.name : undefined;
    if (message === 'Workflow failed' && error instanceof Error && isMeant(error.message)) {
      log.info({ workflow: rest['workflowId'] }, error.message); // Ids and codes, and no fault of this worker.
      return;
    }

    log[levels[level]]({ temporal: { ...rest, error: name } }, message);
  });
}
