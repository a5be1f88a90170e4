import test from 'ava';
import { createLogger } from '../../runtime/logger.ts';
import { retryUntilReady } from '../../runtime/process.ts';

test('the time limit for a cause starts when the cause does, however long the server was down before', async (t) => {
  // The first wait is longer than the 100 ms after which the second cause is final.
  const answers = ['away', 'namespace unknown', 'ready'];
  const work = async (): Promise<string> => {
    const answer = answers.shift() ?? '';
    if (answer !== 'ready') {
      throw new Error(answer);
    }

    return answer;
  };
  const explain = (error: unknown) => {
    const reason = error instanceof Error ? error.message : '';
    return reason === 'away' ? { reason } : { reason, finalAfterMs: 100 };
  };
  const log = createLogger('test', 'silent');
  t.is(await retryUntilReady('Temporal', work, log, explain), 'ready');
});
