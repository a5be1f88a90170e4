import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import test from 'ava';
import type { Logger } from '../../runtime/logger.ts';
import { temporalLogger, redactErrors } from '../../worker/create-workers.ts';
import { deliveryFailure, postFailure } from '../../workflows/details.ts';
import { testLog } from '../support/temporal.ts';

/** The lines that our log gets when a workflow fails: each a level and its arguments. */
function logged(error: Error): unknown[][] {
  const lines: unknown[][] = [];
  const level =
    (name: string) =>
    (...line: unknown[]) =>
      void lines.push([name, ...line]);
  const log = { info: level('info'), warn: level('warn') } as unknown as Logger;
  temporalLogger(log).warn('Workflow failed', { workflowId: 'post-1', error });
  return lines;
}

test('a workflow that fails with its post or delivery is logged as info, with channels and codes', (t) => {
  const channel = { channelId: '7', network: 'x', status: 'failed', code: 'duplicate' };
  const post = new Error(postFailure('failed', [channel]).message); // As from a worker's thread.
  t.deepEqual(logged(post), [
    [
      'info',
      { workflow: 'post-1' },
      'The post was published on none of its channels. X channel 7: duplicate.',
    ],
  ]);
  t.is(logged(new Error(deliveryFailure('1', 1).message))[0]?.[0], 'info');
});

test('another failure of a workflow is a warning without the message of its error', (t) => {
  t.deepEqual(logged(new TypeError('the text of a post')), [
    ['warn', { temporal: { workflowId: 'post-1', error: 'TypeError' } }, 'Workflow failed'],
  ]);
});

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

test('Temporal gets the name of an unexpected error, but not its message or cause', async (t) => {
  const cause = new Error('a token');
  const failure = await redacted(new TypeError("the text of somebody's post", { cause }));
  t.true(failure instanceof ApplicationFailure);
  t.like(failure, { type: 'internal', nonRetryable: false, cause: undefined });
  t.is(String(failure).includes('somebody'), false);
  t.regex(String(failure), /TypeError/v);
});

test('an ApplicationFailure of an activity reaches Temporal unchanged', async (t) => {
  const meant = ApplicationFailure.create({ type: 'too_early', message: 'Nothing was sent' });
  t.is(await redacted(meant), meant);
});
