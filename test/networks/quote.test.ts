import test from 'ava';
import { quote } from '../../networks/quote.ts';

test('words are quoted on one line, without secrets and control characters', (t) => {
  t.is(quote('Bad\n\ttoken: s3cret, s3cret\u0000!', ['s3cret', '']), '"Bad token: …, … !"');
  t.is(quote('👩‍👩‍👧‍👦', []), '"👩‍👩‍👧‍👦"');
});

test('no words are nothing', (t) => {
  for (const words of [undefined, null, 5, '', ' \n']) {
    t.is(quote(words, []), '');
  }
});

test('a long speech is cut to a text that a database takes', (t) => {
  const short = quote(`x${'👋'.repeat(1000)}`, []);
  t.true(short.length < 310 && short.endsWith('…"'));
  t.true(short.isWellFormed());
});
