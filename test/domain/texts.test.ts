import test from 'ava';
import { normalized } from '../../domain/texts.ts';
import { processorSeconds } from '../support/processor-seconds.ts';

const forms = ['NFC', 'NFKC'] as const;

test('usual texts are normalized exactly', (t) => {
  const texts = [
    '',
    'Cafe\u0301 ﬁn ½ ｶﾞ',
    'नमस्ते दुनिया ภาษาไทยที่นี่ བསྒྲུབས Tiếng Việt שָׁלוֹם اَلسَّلَامُ',
    '👩🏽‍❤️‍💋‍👨🏽🏴󠁧󠁢󠁥󠁮󠁧󠁿1️⃣',
    // As many marks as generators of such texts add, in an order that normalization changes.
    `Z${'\u0315\u0316'.repeat(50)}a\u0327\u0301${'\u0300'.repeat(100)}`,
  ];
  for (const form of forms) {
    for (const text of texts) {
      t.is(normalized(text, form), text.normalize(form));
    }
  }
});

test('of too many marks on one letter the first are kept, without a half of one', (t) => {
  // A mark of two UTF-16 units.
  const odd = '\u{1d165}';
  t.is(normalized(`a${odd.repeat(500)}b`, 'NFC'), `a${odd.repeat(128)}b`);
  t.is(normalized(`a\u0301${'\u0316'.repeat(500)}`, 'NFC'), `á${'\u0316'.repeat(127)}`.normalize());
});

test('many marks in the wrong order are normalized quickly', (t) => {
  const slow = [
    ['NFC', '\u0315\u0316'],
    ['NFC', '\u{1d16d}\u{1d165}'],
    ['NFKC', '\u0315\u0316'],
    // The second is a letter that NFKC turns into a mark.
    ['NFKC', '\u0315\uff9e'],
  ] as const;
  for (const [form, pair] of slow) {
    // Unicode's own algorithm takes 10 s and more.
    const seconds = processorSeconds(() => normalized(`a${pair.repeat(120_000)}`, form));
    t.true(seconds < 3, `${form} ${JSON.stringify(pair)}: ${seconds} s`);
  }
});
