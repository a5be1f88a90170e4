import { DefaultLogger, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from '../runtime/logger.ts';

const levels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const;

/**
 * Temporal's own messages in our log. An activity that fails is logged by `activities/without-inside.ts`,
 * which knows what may be said; Temporal's line about the same would quote the error whole.
 */
export function temporalLogger(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message.startsWith('No workflows registered')) {
      return; // Right for our activity-only workers.
    }

    const { error, ...rest } = meta ?? {};
    const name = error instanceof Error ? error.name : undefined;
    log[levels[level]]({ temporal: { ...rest, error: name } }, message);
  });
}
