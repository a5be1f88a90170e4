import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import test from 'ava';
import pino from 'pino';
import type { Logger } from '../../runtime/logger.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import { temporalLogger, redactErrors } from '../../worker/create-workers.ts';
import { deliveryFailure, postFailure } from '../../workflows/details.ts';
import { testLog } from '../support/temporal.ts';

/** The lines that our log gets when a workflow fails, or for another message: each a level and its arguments. */
function logged(error?: Error, workflowId = 'post-1', message = 'Workflow failed'): unknown[][] {
  const lines: unknown[][] = [];
  const level =
    (name: string) =>
    (...line: unknown[]) =>
      void lines.push([name, ...line]);
  const [debug, info, warn] = [level('debug'), level('info'), level('warn')];
  temporalLogger({ debug, info, warn } as unknown as Logger).warn(message, { workflowId, error });
  return lines;
}

test('the failed workflow of a delivery is logged as info; that of a post was logged by its last activity', (t) => {
  const channel = {
    channelId: '7',
    network: 'x',
    handle: '@a',
    status: 'failed',
    code: 'duplicate',
  };
  t.deepEqual(logged(new Error(postFailure('failed', [channel]).message)), []);
  const delivery = new Error(deliveryFailure('1', 1).message); // As from a worker's thread.
  t.deepEqual(logged(delivery, 'delivery-1'), [
    ['info', { workflow: 'delivery-1' }, delivery.message],
  ]);
});

test('a failed activity is one line with its ids and its code', async (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const meant = ApplicationFailure.create({ type: 'network_unavailable', message: 'No answer' });
  await redacted(meant, redactErrors(log));
  temporalLogger(log).warn('Activity failed', { taskToken: 'abc', error: meant });
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {
    level: 40,
    activity: 'claimPost',
    queue: 'publish-x',
    attempt: 1,
    workflow: 'post-1',
    post: '7',
    code: 'network_unavailable',
    msg: 'activity failed',
  });
});

for (const type of ['paced', 'endpoint_busy', 'too_early']) {
  test(`an attempt that only waits (${type}) is no line of the usual log`, async (t) => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    await redacted(
      ApplicationFailure.create({ type, message: 'Nothing was sent' }),
      redactErrors(log),
    );
    t.deepEqual(lines, []);
  });
}

test('an attempt that a change of the post or a newer attempt overtook is no error in the log', async (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const failure = await redacted(
    new SupersededError('Another attempt is sending.'),
    redactErrors(log),
  );
  t.like(failure, { type: 'superseded', nonRetryable: false });
  t.like(
    lines.map((line) => JSON.parse(line)),
    [{ level: 30, code: 'superseded', post: '7' }],
  );
});

test('an outage of the database is one line for all activities that it fails', async (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const redact = redactErrors(log);
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  const failures = [await redacted(refused, redact), await redacted(refused, redact)];

  const message = "The database is unavailable. The worker's log says why.";
  t.like(
    failures,
    [message, message].map((said) => ({ type: 'internal', message: said })),
  );
  t.like(
    lines.map((line) => JSON.parse(line)),
    [{ level: 50, count: 1, post: '7', error: { code: 'ECONNREFUSED' } }],
  );
});

test('what Temporal repeats for each due post in an outage of the database is not among the warnings', (t) => {
  const messages = [
    '[TMPRL1104] 0192f0c4:9:1 Workflow task duration exceeded 5 seconds.',
    'Tried to complete untracked local activity',
  ];
  t.deepEqual(
    messages.flatMap((message) => logged(undefined, 'post-1', message).map(([level]) => level)),
    ['debug', 'debug'],
  );
});

test('another failure of a workflow is a warning without the message of its error', (t) => {
  t.deepEqual(logged(new TypeError('the text of a post')), [
    ['warn', { temporal: { workflowId: 'post-1', error: 'TypeError' } }, 'Workflow failed'],
  ]);
});

const workflowExecution = { workflowId: 'post-1' };
const info = { activityType: 'claimPost', attempt: 1, taskQueue: 'publish-x', workflowExecution };
const context = { info } as Context;
const input: ActivityExecuteInput = { args: [{ postId: '7' }], headers: {} };

/** The error that Temporal gets from an activity that throws `failure`. */
async function redacted(failure: unknown, redact = redactErrors(testLog)): Promise<unknown> {
  const { execute } = redact(context).inbound ?? {};
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
