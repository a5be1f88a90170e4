import test from 'ava';
import { publishWaitMs, publishWindowMs } from '../../domain/retry-delays.ts';

const minute = 60_000;
const hour = 60 * minute;

test('a channel has 5 tries in all, and a day', (t) => {
  const waits = [1, 2, 3, 4, 5, 6].map(publishWaitMs);
  t.deepEqual(waits, [30_000, 2 * minute, 10 * minute, 30 * minute, null, null]);
  t.is(publishWindowMs, 24 * hour);
});
