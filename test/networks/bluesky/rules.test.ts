import { RichText } from '@atproto/api';
import test from 'ava';
import { recordKey } from '../../../networks/bluesky/record-key.ts';
import { rules } from '../../../networks/bluesky/rules.ts';

const family = '👩‍👩‍👧‍👦';

test('300 characters fit, whatever each of them is made of', (t) => {
  for (const text of ['x'.repeat(300), '한'.repeat(300), '🇫🇷'.repeat(300), '']) {
    t.is(rules.checkText(text, {}), null);
  }
});

test('301 characters do not fit', (t) => {
  t.is(
    rules.checkText('é'.repeat(301), {}),
    'The text is too long for Bluesky: it takes 300 characters, and this is 301.',
  );
});

test('3000 bytes fit and no more, also when they are few characters', (t) => {
  t.is(rules.checkText(family.repeat(120), {}), null);
  t.is(
    rules.checkText(family.repeat(121), {}),
    'The text is too long for Bluesky: it takes 3000 bytes of UTF-8, and this is 3025.',
  );
});

test('characters are counted as Bluesky counts them', (t) => {
  for (const text of [family, 'e\u0301', '👍🏽👍', '\r\n\n', 'ไทย', 'नमस्ते', '🏴󠁧󠁢󠁳󠁣󠁴󠁿']) {
    const long = text.repeat(301);
    const { graphemeLength } = new RichText({ text: long });
    t.regex(rules.checkText(long, {}) ?? '', new RegExp(`this is (${graphemeLength}|\\d{4,})\\.$`));
  }
});

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
