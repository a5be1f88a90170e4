import test from 'ava';
import { rules, statusLength } from '../../../networks/mastodon/rules.ts';

const samples: readonly [text: string, length: number][] = [
  ['', 0],
  ['héllo', 5],
  ['👩‍👩‍👧‍👦🇫🇷', 2],
  ['hi https://example.com/a-very-long-path?with=a&query=of#parts', 3 + 23],
  ['https://a.example', 23],
  ['See https://example.com/a.', 4 + 23 + 1],
  ['(https://example.com/a)', 1 + 23 + 1],
  ['https://example.com/A_(b)', 23],
  ['http://localhost/no-dot', 23],
  ['http://localhost/a-longer-path-without-a-dot', 44],
  ['@alice@mastodon.example hi', 6 + 3],
  ['me@mastodon.example', 19],
  ['https://mastodon.example/@alice@other.example', 23],
];

for (const [text, length] of samples) {
  test(`"${text}" counts ${length}`, (t) => {
    t.is(statusLength(text, 23), length);
  });
}

test('a text fits up to the limit of its server and no further', (t) => {
  const settings = { maxCharacters: 30, charactersReservedPerUrl: 25 };
  t.is(rules.checkText(`1234 https://a.example`, settings), null);
  t.is(
    rules.checkText(`123456 https://a.example`, settings),
    'The text is too long for this Mastodon server: it takes 30 characters (a link counts 25), and this is 32.',
  );
});

test('a text made to be slow is measured all the same', (t) => {
  for (const text of ['.', '(', ')', '@a', '@a@', 'https://', 'https://a.b/.']) {
    t.true(statusLength(`https://a.example/${text.repeat(100_000)}x`, 23) > 0);
    t.true(statusLength(text.repeat(100_000), 23) > 0);
  }
});

test('a channel without settings, or with broken ones, has the limits of Mastodon', (t) => {
  for (const settings of [{}, null, { maxCharacters: 'many' }]) {
    t.is(rules.checkText('x'.repeat(500), settings), null);
    t.regex(rules.checkText('x'.repeat(501), settings) ?? '', /takes 500 .*this is 501\.$/);
  }
});
