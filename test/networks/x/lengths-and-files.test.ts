import test from 'ava';
import twitterText from '../../../runtime/twitter-text.ts';
import type { MediaDetails } from '../../../domain/media.ts';
import { xRules } from '../../../networks/x/rules.ts';
import { weightedLength } from '../../../networks/x/weighted-length.ts';
import { seeded } from '../../support/simulation/random.ts';
import { family, times, against, filesOf, image, video } from '../content.ts';

const inLibrary = (text: string): number => twitterText.parseTweet(text).weightedLength;

const a = (length: number): string => 'a'.repeat(length);
const england = '🏴󠁧󠁢󠁥󠁮󠁧󠁿';
const filters = 'refreshInterval:(pause:!t,value:0),'.repeat(22);
const longTexts: readonly [what: string, text: string][] = [
  [
    'a link in brackets and a version, then Chinese',
    `(https://a.com/${a(770)}) v1.5${'日'.repeat(240)}`,
  ],
  ['a link in brackets, then Chinese', `(https://a.com/${a(770)}) ${'日'.repeat(120)}.5% `],
  [
    'a link in brackets, then Japanese',
    `(https://a.com/${a(770)}) ${'iOS18.1、日本語'.repeat(23)}`,
  ],
  [
    'a link of Kibana',
    `See https://k.example.com/app#/x?_g=(filters:!(),${filters}time:(from:now-7d,to:now))`,
  ],
  ['Japanese before a link', `こちらをご覧ください→https://www.google.com/maps/place/${a(760)}`],
  ['a link in Cyrillic', `https://ru.wikipedia.org/wiki/${'Ж'.repeat(780)}`],
  ['brackets in a link', `https://en.wikipedia.org/wiki/Foo_(bar)?x=${a(780)}`],
  [
    'brackets one after the other in links',
    times(4, `https://a.com/${'(a)(b(c)d)'.repeat(70)}`).join(' '),
  ],
  ['two quoted links', `"https://a.com/${a(600)}" "https://b.com/${a(600)}"`],
  ['two links in brackets', `(https://a.com/${a(600)}) (https://b.com/${a(600)})`],
  ['a link with many dashes', `https://a.com/${'a-'.repeat(400)}`],
  ['a link without a protocol', `example.com/${a(800)}?b=c`],
  ['flags of England', england.repeat(120)],
  ['flags of England and a dot', `${england.repeat(120)}.`],
  ['families and a dot', `${family.repeat(75)}.`],
  ['kisses', '👩🏽‍❤️‍💋‍👨🏽'.repeat(140)],
  ['a domain of many labels', `${'a.'.repeat(300)}com`],
  ['a domain of many labels in Chinese', `https://${'日.'.repeat(300)}com`],
  ['the longest link', `https://a.com/${a(4096 - 22)}`],
  ['a link that is too long', `https://a.com/${a(4096 - 21)}`],
  ['the longest slug of t.co', `https://t.co/${a(40)}`],
  ['a slug of t.co that is too long', `https://t.co/${a(41)}`],
  ['the longest label', `https://${a(63)}.com`],
  ['a label that is too long', `https://${a(64)}.com`],
  ['a label of Chinese that is too long in Punycode', `https://${'日本'.repeat(30)}.com`],
  ['a label of Chinese', `https://${'日'.repeat(30)}.com/a`],
  ['many accents in a link', `https://a.com/${'e\u0323\u0301'.repeat(1000)}`],
  ['a link that ends inside an emoji', `example.com${family}.co/a`],
];
for (const [what, text] of longTexts) {
  test(`${what}: counts as in X’s library`, (t) => {
    t.is(weightedLength(text), inLibrary(text));
  });
}

/** Each round picks from a few pieces, so that the same ones often meet. */
function textsOf(pieces: readonly string[], rounds: number): string[] {
  const random = seeded(280);
  return Array.from({ length: rounds }, () => {
    const own = times(6, '').map(() => random.pick(pieces));
    const from = random.chance(0.5) ? own : pieces;
    return times(3 + random.below(12), '')
      .map(() => random.pick(from))
      .join('');
  });
}

/** Splits at single spaces. */
const list = (pieces: string): string[] => pieces.split(' ');

const blanks = [' ', '\n', '\u3000', '\u2028', '\u0085'];
const emoji = [family, england, ...list('👩🏽 🇫🇷 1️⃣ 👍🏽')];
const anything = [
  ...blanks,
  ...emoji,
  ...list('example.com b.com comx .com .co a.b t.co/abc https://t.co/abc HTTP:// https:// www.'),
  ...list('https://example.com/a?b=c#d xn-- xn--p1ai рф .中国 みんな a_b a-b (a) (b(c)d) :80 1 x'),
  ...list(
    '日本 。 한 Ж é É e\u0301 \u0301 \u0338 ß ı ſ ｅ ＠ ＃ \uFE0F \u200D \uD83D \uDC69 \uFEFF \u200E',
  ),
  ...list('. , ( ) @ # $ - / _ ? = & ` " \' < | { \\ ^ % ! [ ~ *'),
  a(40),
  '日'.repeat(40),
  'a.'.repeat(5),
  '日.'.repeat(3),
];

test('random texts count as in X’s library', (t) => {
  for (const text of textsOf(anything, 10_000)) {
    t.is(weightedLength(text), inLibrary(text), JSON.stringify(text));
  }
});

test('no text of 50,000 characters that is too long for X counts as short', (t) => {
  for (const piece of [
    '日',
    family,
    england,
    '\u0301\u0323',
    'a\u0301\u0323',
    '日.',
    `${a(80)}.com`,
  ]) {
    const text = piece.repeat(50_000 / piece.length);
    t.true(weightedLength(text) > 280, JSON.stringify(piece));
  }
});

const x = against(xRules({ post: 0, linkPost: 0 }, 24));

test('a GIF has up to 1280 × 1080 pixels, 350 frames and 300 million pixels in all', (t) => {
  const gif = (width: number, height: number, frames: number) =>
    filesOf(image({ name: 'a.gif', type: 'image/gif', width, height, details: { frames } }));
  x.takes(t, gif(1280, 1080, 217));
  x.takes(t, gif(1080, 1280, 1));
  x.takes(t, gif(100, 100, 350));
  x.takes(t, filesOf(image({ name: 'old.gif', type: 'image/gif', details: null })));
  x.refuses(
    t,
    gif(100, 100, 400),
    '"a.gif" has too many frames for X: a GIF may have up to 350, and this has 400.',
  );
  x.refuses(
    t,
    gif(1400, 1200, 1),
    '"a.gif" has too many pixels for X: a GIF may have up to 1280 × 1080 pixels, and this is 1400 × 1200.',
  );
  x.refuses(
    t,
    gif(1200, 900, 300),
    '"a.gif" has too many pixels for X: all frames of a GIF together may have up to 300,000,000 pixels, and this has 324,000,000 (1200 × 900 × 300).',
  );
});

const plainVideo = {
  frameRate: 60,
  videoCodec: 'avc',
  chroma: '4:2:0',
  bitDepth: 8,
  pixelAspect: 1,
  audioCodec: 'aac',
  audioProfile: 'mp4a.40.2',
  audioChannels: 2,
};
const unfit: readonly [details: MediaDetails, error: string][] = [
  [
    { frameRate: 240 },
    '"clip.mp4" has too many frames per second for X: a video may have up to 60, and this has 240.',
  ],
  [
    { chroma: '4:4:4' },
    'X takes videos in YUV 4:2:0 only, and "clip.mp4" is in 4:4:4. Encode it as yuv420p.',
  ],
  [
    { pixelAspect: 4 / 3 },
    'X takes videos with square pixels only, and a pixel of "clip.mp4" is 1.333 times as wide as high.',
  ],
  [
    { audioCodec: 'mp3', audioProfile: 'mp3' },
    'X takes videos with sound in AAC-LC only, and that of "clip.mp4" is mp3.',
  ],
  [
    { audioProfile: 'mp4a.40.5' },
    'X takes videos with sound in AAC-LC only, and that of "clip.mp4" is HE-AAC.',
  ],
  [
    { audioChannels: 6 },
    'X takes videos with sound in mono or stereo only, and "clip.mp4" has 6 channels.',
  ],
];
for (const [details, error] of unfit) {
  test(`a video with ${JSON.stringify(details)} is refused`, (t) => {
    x.takes(t, filesOf(video({ details: plainVideo })));
    x.takes(t, filesOf(video({ details: {} })));
    x.refuses(t, filesOf(video({ details: { ...plainVideo, ...details } })), error);
  });
}

const doubtful: readonly [details: MediaDetails, warning: string][] = [
  [{ frameRate: 60.02 }, 'a video may have up to 60 frames per second, and this has 60.02'],
  [{ bitDepth: 10 }, 'it is made for videos of 8 bits, and this has 10'],
  [{ videoCodec: 'hevc' }, 'it is made for videos in H.264, and this is in hevc'],
];
for (const [details, warning] of doubtful) {
  test(`a video with ${JSON.stringify(details)} is accepted with a warning`, (t) => {
    const film = filesOf(video({ details: { ...plainVideo, ...details } }));
    x.takes(t, film);
    x.warns(t, film, `X may refuse "clip.mp4": ${warning}.`);
  });
}
