import test from 'ava';
import type { Logger } from '../../runtime/logger.ts';
import { temporalLogger } from '../../worker/temporal-logger.ts';
import { deliveryFailure, postFailure } from '../../workflows/failures.ts';

/** What our log gets when a workflow fails: the level, then what is logged. */
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

test('a workflow that fails because its post or delivery did is no warning, and its line names channels and codes', (t) => {
  const channel = { channelId: '7', network: 'x', status: 'failed', code: 'duplicate' };
  const post = new Error(postFailure('failed', [channel]).message); // As it arrives from a worker's thread.
  t.deepEqual(logged(post), [
    [
      'info',
      { workflow: 'post-1' },
      'The post was published on none of its channels. X channel 7: duplicate.',
    ],
  ]);
  t.is(logged(new Error(deliveryFailure('1', 1).message))[0]?.[0], 'info');
});

test('a workflow that fails otherwise is a warning without the words of its error', (t) => {
  t.deepEqual(logged(new TypeError('the text of a post')), [
    ['warn', { temporal: { workflowId: 'post-1', error: 'TypeError' } }, 'Workflow failed'],
  ]);
});
