import test from 'ava';
import { openNetworks, platforms } from '../../networks/registry.ts';
import type { Content, AttachmentFacts } from '../../networks/content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';
import { contentOf, family, filesOf, image, textOf, video } from './content.ts';

/** Required fields of YouTube, which other networks ignore. */
const youtubeOptions = { title: 'A film', made_for_kids: false };
/** Turns the warnings about prices off. */
const unpriced = { PUNCTUAL_X_PRICE_POST: '0', PUNCTUAL_X_PRICE_LINK_POST: '0' };
const everyFact = { width: null, height: null, durationMs: null };

for (const platform of platforms) {
  const rules = openNetworks(unpriced).rules[platform];
  const errorsOf = (content: Content) => rules.validate(content, {}).errors;

  test(`${platform}: a text and a video have no errors or warnings`, (t) => {
    const content = contentOf({ texts: ['Look'], media: [video()], video: youtubeOptions });
    const { errors, warnings, texts } = rules.validate(content, {});
    t.deepEqual({ errors, warnings }, { errors: [], warnings: [] });
    t.like(texts, [{ length: 4 }]);
  });

  test(`${platform}: a post without a text and a file is refused`, (t) => {
    for (const texts of [[], [''], [' \n\t'], ['', '']]) {
      t.regex(
        errorsOf(contentOf({ texts, video: youtubeOptions }))[0] ?? '',
        /neither a text nor a file/,
      );
    }
  });

  test(`${platform}: files may be published without a text`, (t) => {
    t.deepEqual(errorsOf(contentOf({ texts: [''], media: [video()], video: youtubeOptions })), []);
    t.deepEqual(errorsOf(contentOf({ media: [video()], video: youtubeOptions })), []);
  });

  test(`${platform}: a file with few known details is not refused`, (t) => {
    const unknown = contentOf({ texts: ['Hi'], media: [video(everyFact)], video: youtubeOptions });
    t.deepEqual(errorsOf(unknown), []);
  });

  test(`${platform}: a text that is too long is refused with its limit and its length`, (t) => {
    const [error = '', ...more] = errorsOf(
      contentOf({ texts: ['x'.repeat(20_000)], media: [video()], video: youtubeOptions }),
    );
    const [measure] = rules.validate(textOf('x'.repeat(20_000)), {}).texts;
    t.regex(error, new RegExp(`takes ${measure?.limit} [a-z].*this is 20000\\.$`));
    t.true(more.every((text) => text.includes('3000 bytes')));
  });

  test(`${platform}: every text is measured, in order`, (t) => {
    const { texts } = rules.validate(textOf('a', 'bb', 'ccc'), {});
    const lengths = texts.map(({ length }) => length);
    t.deepEqual(lengths, rules.threads ? [1, 2, 3] : [10]);
    t.deepEqual(rules.validate(textOf(), {}).texts, []);
  });

  test(`${platform}: any text of a megabyte is validated in time`, (t) => {
    for (const unit of slowTexts) {
      const text = unit.repeat(Math.floor(1_000_000 / unit.length));
      const { texts } = rules.validate(textOf(text), {});
      t.true((texts[0]?.length ?? 0) > 0, JSON.stringify(unit.slice(0, 20)));
    }
  });

  test(`${platform}: any content is validated, always with the same result`, (t) => {
    for (const { content, settings } of oddContents(2000)) {
      const result = rules.validate(content, settings);
      t.deepEqual(rules.validate(content, settings), result);
      const count = rules.threads ? content.texts.length : Math.min(1, content.texts.length);
      t.is(result.texts.length, count);
      t.true(result.texts.every(({ length, limit }) => length >= 0 && limit > 0));
      const sentences = [...result.errors, ...result.warnings];
      t.true(
        sentences.every((sentence) => /^[A-Z"].*\.$/su.test(sentence)),
        sentences.join('\n'),
      );
    }
  });
}

for (const platform of ['x', 'bluesky', 'mastodon'] as const) {
  test(`${platform}: only the first part of a thread may be without a text, if it has a file`, (t) => {
    const { validate } = openNetworks({}).rules[platform];
    const errorsOfTexts = (...texts: readonly string[]) =>
      validate(contentOf({ texts, media: [image()] }), {}).errors;
    t.deepEqual(errorsOfTexts('', 'Two'), []);
    t.deepEqual(errorsOfTexts('One', ' ', 'Three'), ['Part 2: There is no text in it.']);
    t.deepEqual(validate(textOf('', 'Two'), {}).errors, ['Part 1: There is no text in it.']);
  });
}

for (const platform of ['x', 'bluesky', 'mastodon'] as const) {
  test(`${platform}: each part of a thread has its own files, and errors name the part`, (t) => {
    const { validate } = openNetworks({}).rules[platform];
    const thread = (...second: readonly AttachmentFacts[]) =>
      contentOf({ texts: ['One', 'Two'], media: [video()], later: [second] });
    t.deepEqual(validate(thread(image(), image()), {}).errors, []);
    t.deepEqual(validate(contentOf({ texts: ['One', ''], later: [[image()]] }), {}).errors, []);
    const [error = '', ...more] = validate(thread(image(), video()), {}).errors;
    t.regex(error, /^Part 2: .* takes up to 4 images.*there are 1 image and 1 video\.$/v);
    t.deepEqual(more, []);
  });
}

for (const platform of ['x', 'linkedin', 'mastodon'] as const) {
  test(`${platform}: an alt text may have up to the network's limit`, (t) => {
    const { limits, validate } = openNetworks({}).rules[platform];
    const [most = 0] = limits({}).files.flatMap(({ maxAltText }) => maxAltText ?? []);
    const described = (length: number) => filesOf(image({ altText: 'x'.repeat(length) }));
    t.deepEqual(validate(described(most), {}).errors, []);
    const [error = ''] = validate(described(most + 1), {}).errors;
    const [limit, length] = [most.toLocaleString('en-US'), (most + 1).toLocaleString('en-US')];
    t.true(error.startsWith('The alt text of "photo.jpg" is too long for '), error);
    t.true(error.endsWith(`up to ${limit} characters, and this has ${length}.`), error);
  });
}

const animations: readonly [platform: 'x' | 'linkedin' | 'bluesky' | 'mastodon', says: string][] = [
  ['x', 'X takes animations as GIF only, and "cat.png" is an animated PNG.'],
  ['x', 'X plays only GIFs as animations, and "cat.webp" is an animated WebP.'],
  [
    'linkedin',
    'LinkedIn plays only GIFs as animations, and "cat.png" is an animated PNG: it may become a still image.',
  ],
  ['bluesky', 'Bluesky shows an animated PNG as a still image, and "cat.png" is one.'],
  ['bluesky', 'Bluesky shows an animated WebP as a still image, and "cat.webp" is one.'],
  [
    'mastodon',
    'Many Mastodon servers take animated PNGs of up to 921,600 pixels only, and "cat.png" has 960,000 (1200 × 800).',
  ],
  [
    'mastodon',
    'Mastodon shows an animated WebP as a still image, and "cat.webp" is one. Use a GIF for an animation.',
  ],
];
for (const [platform, says] of animations) {
  const { validate } = openNetworks({}).rules[platform];
  const type = says.includes('.png"') ? 'png' : 'webp';
  test(`${platform}: an animated ${type} is refused or has a warning, and a still one is taken`, (t) => {
    const sentencesOf = (facts: Partial<AttachmentFacts>): readonly string[] => {
      const file = image({ name: `cat.${type}`, type: `image/${type}`, ...facts });
      const { errors, warnings } = validate(filesOf(file), {});
      return [...errors, ...warnings];
    };
    t.deepEqual(sentencesOf({ details: { frames: 1 } }), []);
    t.deepEqual(sentencesOf({ details: { frames: 2 } }), [says]);
    t.deepEqual(sentencesOf({ durationMs: 900 }), [says], 'Uploaded before frames were counted.');
  });
}

test('any file name appears in errors as one clean line', (t) => {
  const named = (name: string) =>
    openNetworks({}).rules.x.validate(filesOf(image({ name, sizeBytes: 9_000_000 })), {})
      .errors[0] ?? '';
  t.regex(named('a\n\u0000b.jpg'), /^"a b\.jpg" is too large/);
  t.regex(named(' '), /^A file is too large/);
  t.true(named('x'.repeat(100_000)).length < 500);
});

/** Each makes a pattern of ours or a library's backtrack, or is long in only one way of counting. */
const slowTexts = [
  ['x', ' ', '\n', '.', '(', ')', '@a', '@a@', '@a.', '#', '#a', '#1', '$A ', '<', '\\'],
  ['a.', 'a-a.', 'a. ', 'a.co,', 'http://', 'https://a.b/.', 'https://a.b/(', 'https://a.b '],
  ['日', 'é.', '👩\u200D', '🇫', '\u0301', '\u200D', '\uD83D', '\uFEFF', family],
  [`http://${'a.'.repeat(2000)} `],
].flat();

const pieces = [
  ['a', 'Hello', ' ', '\n', '\r\n', '\t', '.', '<', '>', '#', '#tag', '@me', '@me@a.example'],
  ['https://a.example/b?c', 'a.co', '$AAPL', '$', '日本', 'é', '\u0301', family, '🇫', '1️⃣'],
  ['\uD83D', '\uDC69', '\u0000', '\uFEFF', '\uFFFF', '\u2028', '__proto__', 'x'.repeat(300)],
].flat();

const types = [
  ['image/jpeg', 'image/png', 'image/gif', 'image/heic', 'video/mp4', 'video/quicktime'],
  ['video/webm', 'audio/mpeg', '', '/', '__proto__', 'constructor', 'image/*', 'video/'],
].flat();

const amounts = [null, 0, 1, -1, 0.5, 1920, 140_000, 1e9, 1e300, NaN, Infinity];

const oddSettings: readonly Json[] = [
  null,
  {},
  [],
  'x',
  { maxVideoBytes: 1 },
  { maxVideoBytes: null },
  { mediaTypes: ['image/png', 'video/x-matroska'], maxMediaAttachments: 0, maxImageBytes: 1 },
  { charactersReservedPerUrl: 0, maxCharacters: 5, mediaTypes: ['image/__proto__'] },
];

/** Unusual contents for validation; the same ones in every run. */
function* oddContents(count: number): Generator<{ content: Content; settings: Json }> {
  let state = 1;
  const below = (limit: number): number => {
    // Lehmer's generator: not random enough for a lottery, but enough to mix.
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const some = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: below(most + 1) }, make);
  const text = (): string => some(12, () => pick(pieces)).join('');
  const file = (): AttachmentFacts => ({
    name: text(),
    type: pick(types),
    sizeBytes: pick(amounts) ?? 0,
    width: pick(amounts),
    height: pick(amounts),
    durationMs: pick(amounts),
    altText: pick([null, text()]),
  });
  const options = () => pick([null, {}, { title: text() }, { title: text(), made_for_kids: true }]);

  for (let made = 0; made < count; made += 1) {
    const media = some(3, () => some(6, file));
    const content = { texts: some(4, text), media, video: options(), options: {} };
    yield { content, settings: pick(oddSettings) };
  }
}
