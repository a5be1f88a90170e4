import test from 'ava';
import { recordKey } from '../../../networks/bluesky/record-key.ts';

test('record keys are the same for the same part, and later parts come later', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  t.is(recordKey(atMs, 'a-0'), recordKey(atMs, 'a-0'));
  t.not(recordKey(atMs, 'a-0'), recordKey(atMs, 'b-0'));

  const keys = Array.from({ length: 1000 }, (_, index) => recordKey(atMs + index, `a-${index}`));
  t.deepEqual(keys.toSorted(), keys);
  t.true(keys.every((key) => /^[234567abcdefghij][234567a-z]{12}$/.test(key)));
});

test('a record key says its time as every TID does', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  const digits = '234567abcdefghijklmnopqrstuvwxyz';
  const value = [...recordKey(atMs, 'a-0')].reduce(
    (sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)),
    0n,
  );
  t.is(Number((value >> 10n) / 1000n), atMs);
});
