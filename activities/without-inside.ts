import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';

/**
 * Keeps the inside of unexpected errors out of Temporal: a database error quotes the statement with its
 * values, and a post's text has no business there. The log has the same error under the same id.
 */
export const withoutInside =
  (log: Logger) =>
  <Input, Output>(activity: (input: Input) => Promise<Output>) =>
  async (input: Input): Promise<Output> => {
    try {
      return await activity(input);
    } catch (error) {
      if (error instanceof ApplicationFailure || error instanceof CancelledFailure) {
        throw error;
      }

      const { activityType, attempt, workflowExecution } = activityInfo();
      const where = { activity: activityType, attempt, workflow: workflowExecution?.workflowId };
      log.error({ ...where, error: describeError(error) }, 'an activity failed and is tried again');
      const name = error instanceof Error ? error.name : 'Error';
      throw ApplicationFailure.create({
        type: 'internal',
        message: `${name}. The worker's log says more under this workflow's id.`,
      });
    }
  };
