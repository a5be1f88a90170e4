import test from 'ava';
import { createLogger } from '../../runtime/logger.ts';
import { retryUntilReady } from '../../runtime/process.ts';
import { repeat } from '../../runtime/timers.ts';

test('a loop runs at once, then after each wait, and ends when its work asks for it', async (t) => {
  const ended = Promise.withResolvers<void>();
  let runs = 0;
  const { first } = repeat(async () => {
    runs += 1;
    if (runs < 3) {
      return 1;
    }

    ended.resolve();
    return null;
  });
  t.is(runs, 1);
  await first;
  await ended.promise;
  t.is(runs, 3);
});

test('a stopped loop finishes its current run and starts no other', async (t) => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let over = 0;
  const { first, stop } = repeat(async () => {
    begun.resolve();
    await held.promise;
    over += 1;
    return 0;
  });
  await begun.promise;
  const stopped = stop();
  t.is(over, 0);
  held.resolve();
  await stopped;
  await first;
  t.is(over, 1);
});

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
