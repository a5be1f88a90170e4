import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { describeError, type Logger } from '../runtime/logger.ts';

/**
 * An interceptor of activities that keeps the inside of unexpected errors out of Temporal: a post's text or a token in
 * an error's message would be stored in the history. The log has the same error under the workflow's id.
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
            'an activity failed and is tried again',
          );
          const name = error instanceof Error ? error.name : 'Error';
          throw ApplicationFailure.create({
            type: 'internal',
            message: `${name}. The worker's log says more under this workflow's id.`,
          });
        }
      },
    },
  });
