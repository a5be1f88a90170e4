import test from 'ava';
import { rules } from '../../../networks/mastodon/rules.ts';
import { statusLength } from '../../../networks/mastodon/status-length.ts';
import { against, contentOf, filesOf, image, textOf, times, video } from '../content.ts';

const mastodon = against(rules);
const mebibyte = 1024 * 1024;

test("a text may have up to its server's limit", (t) => {
  const settings = { maxCharacters: 30, charactersReservedPerUrl: 25 };
  const small = against(rules, settings);
  small.takes(t, textOf(`1234 https://a.example.com`));
  small.measures(t, `1234 https://a.example.com`, 30);
  small.refuses(
    t,
    textOf(`Fits`, `123456 https://a.example.com`),
    'Part 2: The text is too long for this Mastodon server: it takes 30 characters (a link counts 25), and this is 32.',
  );
  t.is(rules.validate(textOf('Hi'), settings).texts[0]?.limit, 30);
});

test('500 characters of any language fit, including emoji families, flags, and as many links as possible', (t) => {
  const longest = '👨🏽\u200d👩🏽\u200d👧🏽\u200d👦🏽';
  const kiss = '👩🏽\u200d❤️\u200d💋\u200d👨🏽';
  for (const character of ['日', 'བསྒྲུ', 'क्षि', 'ệ', 'a\u0301\u0323', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🇫🇷', kiss, longest]) {
    const count = Math.floor(500 / statusLength(character, 23));
    mastodon.takes(t, textOf(character.repeat(count)));
    mastodon.measures(t, character.repeat(count), statusLength(character, 23) * count);
  }

  const link = `https://example.com/${'a-long-path/'.repeat(170)} `;
  mastodon.takes(t, textOf(link.repeat(20)));
  mastodon.takes(t, textOf(`${link.repeat(10)}${longest.repeat(260)}`));
});

test('a text of few characters but too many bytes is refused', (t) => {
  const most = '25000 bytes of UTF-8 (a link counts 23)';
  const refusal = (bytes: number) =>
    `The text is too long for this Mastodon server: it takes ${most}, and this is ${bytes}.`;
  const marks = (count: number) => `a${'\u0315'.repeat(count)}`;
  mastodon.takes(t, textOf(marks(12_499)));
  mastodon.refuses(t, textOf(marks(12_500)), refusal(25_001));
  mastodon.refuses(t, textOf(`https://a.example.com ${marks(12_500)}`), refusal(25_025));
  against(rules, { maxCharacters: 5000 }).takes(t, textOf(marks(12_500)));
});

test("a channel without settings, or with invalid ones, has Mastodon's limits", (t) => {
  const broken = [{}, null, { maxCharacters: 'many' }, { mediaTypes: ['text/html'] }, 'none'];
  for (const settings of broken) {
    const channel = against(rules, settings);
    channel.takes(t, textOf('x'.repeat(500)));
    channel.refuses(
      t,
      textOf('x'.repeat(501)),
      'The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 501.',
    );
    channel.takes(t, filesOf(...times(4, image({ sizeBytes: 16 * mebibyte }))));
    channel.takes(t, filesOf(video({ sizeBytes: 99 * mebibyte, width: 3840, height: 2160 })));
    t.is(rules.validate(filesOf(...times(5, image())), settings).errors.length, 1);
  }
});

test('up to four images, or one video', (t) => {
  mastodon.takes(t, contentOf({ media: [image()] }));
  mastodon.takes(t, filesOf(image({ type: 'image/gif' }), image({ type: 'image/webp' })));
  const takes = 'This Mastodon server takes up to 4 images, or 1 video in a post, and there are';
  mastodon.refuses(t, filesOf(...times(5, image())), `${takes} 5 images.`);
  mastodon.refuses(t, filesOf(video(), video()), `${takes} 2 videos.`);
  mastodon.refuses(t, filesOf(image(), video()), `${takes} 1 image and 1 video.`);
});

test('a post may have as many images as its server allows', (t) => {
  const six = against(rules, { maxMediaAttachments: 6 });
  six.takes(t, filesOf(...times(6, image())));
  six.refuses(
    t,
    filesOf(...times(7, image())),
    'This Mastodon server takes up to 6 images, or 1 video in a post, and there are 7 images.',
  );

  const none = against(rules, { maxMediaAttachments: 0 });
  none.takes(t, textOf('Hi'));
  none.refuses(
    t,
    filesOf(video()),
    'This Mastodon server takes no files in a post, and there is 1 video.',
  );
});

test("files may have up to Mastodon's limits", (t) => {
  const large = 'is too large for this Mastodon server';
  mastodon.refuses(
    t,
    filesOf(image({ sizeBytes: 16 * mebibyte + 1, width: 7680, height: 4320 })),
    `"photo.jpg" ${large}: an image may have up to 16,777,216 bytes, and this has 16,777,217 bytes.`,
  );
  mastodon.refuses(
    t,
    filesOf(video({ sizeBytes: 105 * mebibyte, width: 3840, height: 2161 })),
    `"clip.mp4" ${large}: a video may have up to 103.8 MB, and this has 110.1 MB.`,
    '"clip.mp4" has too many pixels for this Mastodon server: a video may have up to 8,294,400 pixels, and this has 8,298,240 (3840 × 2161).',
  );
});

test("files may have up to their server's limits", (t) => {
  const strict = against(rules, {
    mediaTypes: ['image/png', 'video/x-matroska'],
    maxImageBytes: 1000,
    maxImagePixels: 100,
    maxVideoBytes: 2000,
    maxVideoPixels: 400,
  });
  const png = { type: 'image/png', sizeBytes: 1000, width: 10, height: 10 };
  const mkv = { type: 'video/matroska', sizeBytes: 2000, width: 20, height: 20 };
  strict.takes(t, filesOf(image(png)));
  strict.takes(t, filesOf(video(mkv)));
  const server = 'for this Mastodon server';
  strict.refuses(
    t,
    filesOf(image({ ...png, sizeBytes: 1001, width: 11 })),
    `"photo.jpg" is too large ${server}: an image may have up to 1,000 bytes, and this has 1,001 bytes.`,
    `"photo.jpg" has too many pixels ${server}: an image may have up to 100 pixels, and this has 110 (11 × 10).`,
  );
  strict.refuses(
    t,
    filesOf(video({ ...mkv, sizeBytes: 2001, height: 21 })),
    `"clip.mp4" is too large ${server}: a video may have up to 2,000 bytes, and this has 2,001 bytes.`,
    `"clip.mp4" has too many pixels ${server}: a video may have up to 400 pixels, and this has 420 (20 × 21).`,
  );
  strict.refuses(
    t,
    filesOf(image()),
    `"photo.jpg" is of the wrong kind ${server}: it takes image/png and video/matroska, and this is "image/jpeg".`,
  );
});

test('a GIF that exceeds the limits of many servers has a warning', (t) => {
  const gif = { name: 'cat.gif', type: 'image/gif', width: 1280 };
  mastodon.warns(t, filesOf(image({ ...gif, height: 720 })));
  const tall = filesOf(image({ ...gif, height: 721 }));
  mastodon.takes(t, tall);
  mastodon.warns(
    t,
    tall,
    'Many Mastodon servers take GIFs of up to 921,600 pixels only, and "cat.gif" has 922,880 (1280 × 721).',
  );
});

// The limits that a server announces.

test("a video may have the server's limit of frames per second, 120 by default", (t) => {
  const film = (frameRate: number) => filesOf(video({ details: { frameRate } }));
  const words = (limit: number, actual: number) =>
    `"clip.mp4" has too many frames per second for this Mastodon server: a video may have up to ${limit}, and this has ${actual}.`;
  mastodon.takes(t, film(120.9));
  mastodon.refuses(t, film(240), words(120, 240));
  const strict = against(rules, { maxVideoFrameRate: 60 });
  strict.takes(t, film(60));
  strict.refuses(t, film(120), words(60, 120));
});

test('an alt text has up to 1500 code points, so an emoji counts 1', (t) => {
  mastodon.takes(t, filesOf(image({ altText: '🎉'.repeat(1500) })));
  mastodon.refuses(
    t,
    filesOf(image({ name: 'a.png', altText: '🎉'.repeat(1501) })),
    'The alt text of "a.png" is too long for this Mastodon server: an image may have one of up to 1,500 characters, and this has 1,501.',
  );
});

test('a content warning counts as part of the text', (t) => {
  const with10 = (length: number) =>
    contentOf({ texts: ['x'.repeat(length)], options: { spoiler_text: '0123456789' } });
  mastodon.takes(t, with10(490));
  mastodon.refuses(
    t,
    with10(491),
    'The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 501, of which spoiler_text has 10.',
  );
});

test('a content warning without a text, and a direct post without a mention, have warnings', (t) => {
  const options = { spoiler_text: 'Spiders' };
  mastodon.warns(t, contentOf({ texts: ['Look'], media: [image()], options }));
  mastodon.warns(
    t,
    contentOf({ texts: [''], media: [image()], options }),
    'Without a text, Mastodon shows the content warning as the text, and hides nothing behind it.',
  );
  const direct = { visibility: 'direct' };
  mastodon.warns(t, contentOf({ texts: ['Hi @alice@a.example'], options: direct }));
  mastodon.warns(
    t,
    contentOf({ texts: ['Write to me@a.example'], options: direct }),
    'A direct post is seen only by the accounts that it mentions, and one of its texts mentions no account.',
  );
});

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
