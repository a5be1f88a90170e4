import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { describeError, type Logger } from '../runtime/logger.ts';

/**
 * Interceptor that keeps the message of an unexpected error out of Temporal's history, because it may contain a post's
 * text or a token. The log has the full error with the workflow's id.
 */
export const redactErrors =
  (log: Logger): ActivityInterceptorsFactory =>
  ({ info: { activityType, attempt, workflowExecution } }) => ({
    inbound: {
      execute: async (input, next) => {
        try {
          return await next(input);
        } catch (error) {
          if (error instanceof ApplicationFailure || error instanceof CancelledFailure) {
            throw error;
          }

          const where = {
            activity: activityType,
            attempt,
            workflow: workflowExecution?.workflowId,
          };
          log.error(
            { ...where, error: describeError(error) },
            'activity failed, Temporal retries it',
          );
          const name = error instanceof Error ? error.name : 'Error';
          throw ApplicationFailure.create({
            type: 'internal',
            message: `${name}. The worker's log has the details under this workflow's id.`,
          });
        }
      },
    },
  });
