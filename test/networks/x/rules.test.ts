import test from 'ava';
import type { Content, Rules } from '../../../networks/content-rules.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { xRules } from '../../../networks/x/rules.ts';
import { against, contentOf, family, filesOf, image, textOf, times, video } from '../content.ts';

const unpriced = xRules({ post: 0, linkPost: 0 }, 24);
const x = against(unpriced);
const mebibyte = 1024 * 1024;

const samples: readonly [text: string, length: number][] = [
  ['', 0],
  ['hello', 5],
  ['héllo', 5],
  ['he\u0301llo', 5],
  [family, 2],
  ['👍🏽🇫🇷', 4],
  ['日本語', 6],
  ['한국', 4],
  ['Привет ¿qué?', 12],
  ['hi https://example.com/a-very-long-path?with=a&query=of#parts', 3 + 23],
  ['example.com', 23],
  ['See example.com, and a.co.', 4 + 23 + 6 + 23 + 1],
  ['me@example.com', 14],
  ['@somebody hi #tag', 17],
  ['no.such-ending', 14],
  ['a\u3000b\u2028c', 3 + 2 + 2],
];
for (const [text, length] of samples) {
  test(`"${text}" counts ${length}`, (t) => {
    x.measures(t, text, length);
  });
}

test('280 characters fit and no more', (t) => {
  x.takes(t, textOf('x'.repeat(280)));
  x.takes(t, textOf('日'.repeat(140)));
  x.takes(t, textOf(family.repeat(140)));
  x.takes(t, textOf(`${'x'.repeat(256)} https://example.com/${'y'.repeat(500)}`));
  const sentence = (length: number) =>
    `The text is too long for X: it takes 280 characters (a link counts 23, an emoji 2), and this is ${length}.`;
  x.refuses(t, textOf('x'.repeat(281)), sentence(281));
  x.refuses(t, textOf('日'.repeat(141)), sentence(282));
  x.refuses(t, textOf(`${'x'.repeat(257)} https://example.com/`), sentence(281));
});

test('the error for a very long text has its plain length', (t) => {
  x.measures(t, 'word '.repeat(10_000), 50_000);
  x.measures(t, 'a.b.'.repeat(10_000), 40_000);
});

test('an error names the part of a thread that does not fit', (t) => {
  x.refuses(
    t,
    textOf('x'.repeat(280), 'x'.repeat(281), '日'.repeat(150)),
    'Part 2: The text is too long for X: it takes 280 characters (a link counts 23, an emoji 2), and this is 281.',
    'Part 3: The text is too long for X: it takes 280 characters (a link counts 23, an emoji 2), and this is 300.',
  );
});

test('a post may have one cashtag, but not two', (t) => {
  x.takes(t, textOf('Buy $AAPL for $20', 'And $MSFT'));
  x.refuses(
    t,
    textOf('One $AAPL', 'Two: $AAPL $MSFT.'),
    'Part 2: X takes at most 1 cashtag in a post, and this has 2: $AAPL, $MSFT.',
  );
});

test("an invisible character that X's library calls invalid is refused", (t) => {
  x.refuses(
    t,
    textOf('a\uFEFFb'),
    'X refuses texts with the invisible character U+FEFF, and this one contains it.',
  );
});

test('four images, or one GIF, or one video', (t) => {
  const gif = image({ name: 'cat.gif', type: 'image/gif' });
  x.takes(t, filesOf(...times(4, image())));
  x.takes(t, filesOf(gif));
  x.takes(t, filesOf(video({ type: 'video/quicktime' })));
  const takes = 'X takes up to 4 images, or 1 GIF, or 1 video in a post, and there are';
  x.refuses(t, filesOf(...times(5, image())), `${takes} 5 images.`);
  x.refuses(t, filesOf(gif, gif), `${takes} 2 GIFs.`);
  x.refuses(t, filesOf(video(), video()), `${takes} 2 videos.`);
  for (const type of ['image/jpeg', 'image/png', 'image/webp']) {
    x.refuses(t, filesOf(gif, image({ type })), `${takes} 1 image and 1 GIF.`);
  }
  x.refuses(t, filesOf(image(), image(), video()), `${takes} 2 images and 1 video.`);
});

test('an image has from 4 × 4 to 8192 × 8192 pixels', (t) => {
  x.takes(t, filesOf(image({ width: 4, height: 8192 })));
  x.refuses(
    t,
    filesOf(image({ width: 1080, height: 9000 })),
    '"photo.jpg" has too many pixels for X: an image may have up to 8192 × 8192 pixels, and this is 1080 × 9000.',
  );
  x.refuses(
    t,
    filesOf(image({ width: 2, height: 2 })),
    '"photo.jpg" is too small for X: an image has 4 × 4 pixels or more, and this is 2 × 2.',
  );
});

test('files may have up to their size limit, to the byte', (t) => {
  const gif = { name: 'cat.gif', type: 'image/gif' };
  x.takes(t, filesOf(image({ type: 'image/webp', sizeBytes: 5 * mebibyte })));
  x.takes(t, filesOf(image({ ...gif, sizeBytes: 15 * mebibyte })));
  x.takes(t, filesOf(video({ sizeBytes: 8192 * mebibyte })));
  x.refuses(
    t,
    filesOf(image({ type: 'image/png', sizeBytes: 5 * mebibyte + 1 })),
    '"photo.jpg" is too large for X: an image may have up to 5,242,880 bytes, and this has 5,242,881 bytes.',
  );
  x.refuses(
    t,
    filesOf(image({ ...gif, sizeBytes: 15 * mebibyte + 100_000 })),
    '"cat.gif" is too large for X: a GIF may have up to 15.7 MB, and this has 15.8 MB.',
  );
  x.refuses(
    t,
    filesOf(video({ sizeBytes: 8192 * mebibyte + 1 })),
    '"clip.mp4" is too large for X: a video may have up to 8,589,934,592 bytes, and this has 8,589,934,593 bytes.',
  );
});

test('a video lasts from 0.5 s to 20 minutes', (t) => {
  x.takes(t, filesOf(video({ durationMs: 500 })));
  x.takes(t, filesOf(video({ durationMs: 1_200_000.4 })));
  const limit = 'for X: a video may last from 0.5 s to 20 min, and this lasts';
  x.refuses(t, filesOf(video({ durationMs: 499 })), `"clip.mp4" is too short ${limit} 0.499 s.`);
  x.refuses(
    t,
    filesOf(video({ durationMs: 1_200_001 })),
    `"clip.mp4" is too long ${limit} 20 min 0.001 s.`,
  );
});

test("a video's aspect ratio may be from 1:3 to 3:1", (t) => {
  x.takes(t, filesOf(video({ width: 900, height: 300 })));
  x.takes(t, filesOf(video({ width: 300, height: 900 })));
  const limit = 'for X: a video may be shaped from 1:3 to 3:1, and this is';
  for (const [width, height, what] of [
    [901, 300, 'wide'],
    [300, 901, 'narrow'],
  ] as const) {
    const sentence = `"clip.mp4" is too ${what} ${limit} ${width} × ${height}.`;
    x.refuses(t, filesOf(video({ width, height })), sentence);
  }
});

test('an error names a type of file that X does not accept', (t) => {
  x.refuses(
    t,
    filesOf(image({ name: 'a.heic', type: 'image/heic' })),
    '"a.heic" is of the wrong kind for X: it takes image/jpeg, image/png, image/webp, image/gif, video/mp4 and video/quicktime, and this is "image/heic".',
  );
});

test('a video without known details is accepted, with a warning', (t) => {
  const unknown = filesOf(video({ width: null, height: null, durationMs: null }));
  x.takes(t, unknown);
  x.warns(
    t,
    unknown,
    'It is unknown what shape "clip.mp4" has; on X a video may be shaped from 1:3 to 3:1.',
    'It is unknown what length "clip.mp4" has; on X a video may last from 0.5 s to 20 min.',
  );
});

test('the files of each part of a thread are validated, and errors name the part', (t) => {
  const later = [[], times(5, image())];
  x.refuses(
    t,
    contentOf({ texts: ['One', 'Two', 'Three'], media: [image()], later }),
    'Part 3: X takes up to 4 images, or 1 GIF, or 1 video in a post, and there are 5 images.',
  );
});

test("an alt text has up to 1000 characters, and a video's is left out", (t) => {
  x.takes(t, filesOf(image({ altText: 'x'.repeat(1000) })));
  const gif = image({ name: 'a.gif', type: 'image/gif', altText: 'x'.repeat(1001) });
  t.regex(
    unpriced.validate(filesOf(gif), {}).errors.join(),
    /alt text of "a\.gif" .*1,000.*1,001/v,
  );
  const film = filesOf(video({ altText: 'A film' }));
  x.takes(t, film);
  x.warns(t, film, 'X shows no alt text of videos: that of "clip.mp4" is left out.');
});

test("a video above X's recommended size is accepted with a warning", (t) => {
  x.warns(t, filesOf(video({ width: 1080, height: 1920 })));
  x.warns(
    t,
    filesOf(video({ width: 3024, height: 1964 })),
    'X may refuse "clip.mp4": it is made for videos of up to 1920 × 1200 pixels, and this has 3024 × 1964.',
  );
});

test('a part with the same text as an earlier one has a warning, unless it has files', (t) => {
  const texts = ['Same', 'Other', ' Same'];
  x.warns(t, textOf(...texts), 'X may refuse part 3 as a duplicate: it says the same as part 1.');
  x.warns(t, contentOf({ texts, later: [[], [image()]] }));
});

// Prices.

const priceBy = (rules: Rules, content: Content) => rules.validate(content, {}).priceUsd;
const priceOf = (content: Content) => priceBy(openNetworks({}).rules.x, content);
for (const [texts, price] of [
  [['Hi'], 0.015],
  [['See example.com'], 0.2],
  [['One', 'Two', 'Three'], 0.045],
  [['One https://a.com/b', 'Two'], 0.215],
  [['a.co', 'b.co', 'Three'], 0.415],
] as const) {
  test(`the price of ${JSON.stringify(texts)} is announced before publishing`, (t) => {
    t.is(priceOf(textOf(...texts)), price);
    t.deepEqual(openNetworks({}).rules.x.validate(textOf(...texts), {}).warnings, []);
  });
}

test('a post that cannot be published has no price', (t) => {
  t.is(priceOf(textOf('x'.repeat(281))), undefined);
});

test('a post with only an image costs as much as one with a text', (t) => {
  t.is(priceOf(contentOf({ media: [image()] })), 0.015);
});

test("alt texts of images cost too, and a video's, which is left out, does not", (t) => {
  const described = image({ altText: 'A fox' });
  const two = contentOf({ texts: ['See example.com'], media: [described, described] });
  t.is(priceOf(two), 0.21);
  t.is(priceOf(contentOf({ media: [described, image()] })), 0.02);
  t.is(priceOf(contentOf({ texts: ['1', '2', '3'], later: [[described], []] })), 0.05);
  t.is(priceOf(contentOf({ media: [video({ altText: 'A film' })] })), 0.015);
  const free = openNetworks({ PUNCTUAL_X_PRICE_POST: '0', PUNCTUAL_X_PRICE_LINK_POST: '0' });
  t.is(priceBy(free.rules.x, two), 0);
});

test('prices are settings, and an invalid price is refused', (t) => {
  const rulesOf = (post: string, linkPost: string) =>
    openNetworks({ PUNCTUAL_X_PRICE_POST: post, PUNCTUAL_X_PRICE_LINK_POST: linkPost }).rules.x;
  t.is(priceBy(rulesOf('0', '1.5'), textOf('Hi')), 0);
  t.is(priceBy(rulesOf('0', '1.5'), textOf('a.co')), 1.5);
  for (const wrong of ['-1', 'free', '0,2', '1e9', '12345']) {
    t.throws(() => rulesOf(wrong, '0'), {
      name: 'ConfigError',
      message: /PUNCTUAL_X_PRICE_POST must be an amount of US dollars such as 0\.015, not ".+"\./v,
    });
  }
  t.throws(() => openNetworks({ PUNCTUAL_X_API_URL: 'api.x.com' }), {
    name: 'ConfigError',
    message: /PUNCTUAL_X_API_URL must be an address/v,
  });
});
