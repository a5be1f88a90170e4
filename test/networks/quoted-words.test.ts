import test from 'ava';
import { quote } from '../../networks/answer.ts';
import { processorSeconds } from '../support/processor-seconds.ts';

test("a server's message is quoted on one line, without secrets and control characters", (t) => {
  t.is(quote('Bad\n\ttoken: s3cret, s3cret\u0000!', ['s3cret', '']), '"Bad token: …, … !"');
  t.is(quote('👩‍👩‍👧‍👦', []), '"👩‍👩‍👧‍👦"');
  t.is(quote('\u202eno\u2066', []), '"no"', 'no character reverses the line');
  const token = 'a+b/c "d"';
  for (const repeated of [
    `refresh_token=${new URLSearchParams([['', token]]).toString().slice(1)}`,
    `refresh_token=${encodeURIComponent(token)}`,
    JSON.stringify({ refresh_token: token }),
  ]) {
    t.notRegex(quote(repeated, [token]), /a.*b.*c.*d/v);
  }
});

test('an empty message gives no quotation', (t) => {
  for (const words of [undefined, null, 5, '', ' \n']) {
    t.is(quote(words, []), '');
  }
});

test('a long message is cut to a text that the database accepts', (t) => {
  const short = quote(`x${'👋'.repeat(1000)}`, []);
  t.true(short.length < 310 && short.endsWith('…"'));
  t.true(short.isWellFormed());
  t.is(quote('x'.repeat(5000), []), `"${'x'.repeat(300)}…"`);
});

// No two pieces of it are equal.
const secret = Array.from({ length: 1500 }, (_, index) => `${index}`.padStart(4, '-')).join('');

/** Whether at least 12 characters of a secret in a row are shown. */
const shows = (quoted: string, hidden: string): boolean =>
  Array.from({ length: quoted.length }, (_, at) => quoted.slice(at, at + 12)).some(
    (piece) => piece.length === 12 && hidden.includes(piece),
  );

test('a secret is not shown at any position, with any length, and after any cut', (t) => {
  for (const length of [12, 30, 64, 65, 300, 1000, 2047, 2048, 2049, 4096, 6000]) {
    const hidden = secret.slice(0, length);
    for (const before of [
      0, 1, 150, 280, 299, 300, 1000, 1900, 2040, 2047, 2048, 4000, 4070, 4090,
    ]) {
      // A run of white space becomes one character, which brings later text into the quotation.
      for (const filler of ['x', ' ', '\n']) {
        const words = `${filler.repeat(before)}${hidden} and ${hidden}`;
        t.false(shows(quote(words, [hidden]), hidden), `${length} after ${before} of ${filler}`);
        t.false(shows(quote(words, ['Bearer', hidden, hidden]), hidden));
      }
    }
  }
});

test('a secret is removed each time, also in other encodings', (t) => {
  t.is(quote('no s3cret and s3cret!', ['s3cret', 's3cret+']), '"no … and …!"');
  const clientSecret = 'WPL_AP1.1234567890abcdef==';
  t.is(quote(`secret=${clientSecret.slice(0, -2)}%3d%3d.`, [clientSecret]), '"secret=…."');
  t.is(quote(String.raw`token a\/b+c`, ['a/b+c']), '"token …"');
});

test('messages and secrets that were made to be slow are quoted in time', (t) => {
  const xs = 'x'.repeat(5000);
  for (const slow of [`b${xs}`, `${xs}b${xs}`, `${xs}b`, xs, '%'.repeat(5000), '"'.repeat(5000)]) {
    for (const words of ['x', `b${xs}`, `${xs}b`, ' x', '%25', '\\"']) {
      const quoted = words.repeat(2_000_000 / words.length);
      const seconds = processorSeconds(() => quote(quoted, [slow, slow]));
      t.true(seconds < 3, `${slow.slice(0, 2)} in ${words.slice(0, 2)}: ${seconds} s`);
    }
  }
});
