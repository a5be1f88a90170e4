import test from 'ava';
import { statusLength } from '../../../networks/mastodon/status-length.ts';

const samples: readonly [text: string, length: number][] = [
  ['', 0],
  ['héllo', 5],
  ['👩‍👩‍👧‍👦🇫🇷', 2],
  ['日本語', 3],
  ['example.com', 11],
  ['hi https://example.com/a-very-long-path?with=a&query=of#parts', 3 + 23],
  ['https://a.example', 17],
  ['https://a.example.com', 23],
  ['https://a.example.com https://b.example.com', 23 + 1 + 23],
  ['See https://example.com/a.', 4 + 23 + 1],
  ['(https://example.com/a)', 1 + 23 + 1],
  ['https://example.com/A_(b)', 23],
  ['http://localhost/no-dot', 23],
  ['http://localhost/a-longer-path-without-a-dot', 44],
  ['@alice@mastodon.example hi', 6 + 3],
  ['me@mastodon.example', 19],
  ['https://mastodon.example/@alice@other.example', 45],
  ['https://mastodon.social/@alice@other.example', 23],
  // Measured with Mastodon's own patterns and validator in Ruby.
  ['詳しくはhttps://example.comをご覧ください。今日は天気がいいですね、', 47],
  ['https://github.com。次の文がここに続きますので長くなります', 43],
  ['https://example.com에서 확인하세요', 31],
  [
    'https://intranet.corpnet/a/very/long/path/that/no/server/shortens/because/it/is/no/link/for/it',
    94,
  ],
  ['http://192.168.1.10:8080/a/very/long/path/that/no/server/shortens/because/it/is/no/link', 87],
  ['mail@https://example.com/a/very/long/path/that/is/long', 54],
  ['#https://example.com/a/very/long/path/that/is/long', 50],
  ['https://a.example.com|https://b.example.com', 47],
  ['https://example.com/a_(b and more', 34],
  ['https://example.com#section-with-a-very-long-name-that-goes-on', 66],
  ['*https://example.com/a/long/path/here*', 25],
  ['https://example.com/$metadata/very/long/path$', 24],
  ['gopher://g.co', 23],
  ['ipfs://b.co', 23],
  ['https://example.com🎉🎉🎉 yes', 30],
  ['こんにちは@alice@mastodon.example さん', 31],
  ['x=@alice@mastodon.example', 25],
  ['@alice@mastodon.example@more', 28],
  ['@alice@mastodon.example://x', 27],
  ['বিশ্ববিদ্যালয় স্বাস্থ্য প্রতিষ্ঠান', 21],
  ['વિશ્વવિદ્યાલય સ્વાસ્થ્ય', 14],
  ['ស្រុកខ្មែរ', 6],
];

for (const [text, length] of samples) {
  test(`"${text}" counts ${length}`, (t) => {
    t.is(statusLength(text, 23), length);
  });
}

test('a link counts as many characters as its server says, however many that is', (t) => {
  t.is(statusLength('a https://a.example.com b', 0), 4);
  t.is(statusLength('https://a.example.com '.repeat(50_000), 10_000), 50_000 * 10_001);
});

test('a text that was made to be slow is measured in time', (t) => {
  for (const text of ['.', '(', ')', '@a', '@a@', 'https://', 'https://a.b/.']) {
    t.true(statusLength(`https://a.example.com/${text.repeat(100_000)}x`, 23) > 0);
    t.true(statusLength(text.repeat(100_000), 23) > 0);
  }
});
