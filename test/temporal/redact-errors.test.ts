import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import ava from 'ava';
import { testLog } from '../support/temporal.ts';
import { redactErrors } from '../../worker/create-workers.ts';

const context = {
  info: { activityType: 'claimPost', attempt: 1, workflowExecution: { workflowId: 'post-1' } },
} as Context;
const input: ActivityExecuteInput = { args: [], headers: {} };

/** The error that Temporal gets from an activity that throws `failure`. */
async function redacted(failure: unknown): Promise<unknown> {
  const { execute } = redactErrors(testLog)(context).inbound ?? {};
  const activity = async (): Promise<never> => {
    throw failure;
  };
  try {
    return await execute?.(input, activity);
  } catch (thrown) {
    return thrown;
  }
}

ava('Temporal gets the name of an unexpected error, but not its message or cause', async (t) => {
  const cause = new Error('a token');
  const failure = await redacted(new TypeError("the text of somebody's post", { cause }));
  t.true(failure instanceof ApplicationFailure);
  t.like(failure, { type: 'internal', nonRetryable: false, cause: undefined });
  t.is(String(failure).includes('somebody'), false);
  t.regex(String(failure), /TypeError/v);
});

ava('an ApplicationFailure of an activity reaches Temporal unchanged', async (t) => {
  const meant = ApplicationFailure.create({ type: 'too_early', message: 'Nothing was sent' });
  t.is(await redacted(meant), meant);
});
