import test from 'ava';
import type { VideoOptions } from '../../../domain/post-view.ts';
import type { Content, AttachmentFacts } from '../../../networks/content-rules.ts';
import { rules as youtubeRules } from '../../../networks/youtube/rules.ts';
import { tagsLength, titleOf } from '../../../networks/youtube/metadata.ts';
import { against, contentOf, family, image, video, type Given } from '../content.ts';

const youtube = against(youtubeRules);

const options: VideoOptions = { title: 'A film', made_for_kids: false };

/** A video that YouTube accepts, except for the test's changes. */
const film = (given: Given = {}): Content =>
  contentOf({ texts: ['About it'], media: [video()], video: options, ...given });

const titled = (title: string): Content => film({ video: { ...options, title } });

test('a video with a title, a text and made_for_kids is accepted', (t) => {
  youtube.takes(t, film());
  youtube.takes(t, film({ video: { ...options, made_for_kids: true, privacy: 'private' } }));
  youtube.takes(t, film({ texts: [''] }));
  youtube.takes(t, film({ texts: [] }));
  youtube.warns(t, film());
});

test('made_for_kids is required', (t) => {
  const sentence =
    'YouTube requires a statement whether the video is made for kids: set the option made_for_kids, or video.made_for_kids, to true or false.';
  youtube.refuses(t, film({ video: { title: 'A film' } }), sentence);
  youtube.refuses(t, film({ video: null }), sentence);
});

test('a post is exactly one video', (t) => {
  const needs = 'YouTube takes exactly 1 video in a post, and there';
  const wrong = (type: string) =>
    `"photo.jpg" is of the wrong kind for YouTube: it takes video/*, and this is "${type}".`;
  youtube.refuses(t, film({ media: [] }), `${needs} is none.`);
  youtube.refuses(t, film({ media: [video(), video()] }), `${needs} are 2 videos.`);
  youtube.refuses(t, film({ media: [video(), image()] }), wrong('image/jpeg'));
  const sound = image({ type: 'audio/mpeg' });
  youtube.refuses(t, film({ media: [sound] }), `${needs} is none.`, wrong('audio/mpeg'));
});

test('any type of video is accepted', (t) => {
  for (const type of ['video/mp4', 'video/quicktime', 'video/webm', 'video/matroska']) {
    youtube.takes(t, film({ media: [video({ type })] }));
  }
});

test('a title has 1 to 100 characters', (t) => {
  youtube.takes(t, titled('x'));
  youtube.takes(t, titled('x'.repeat(100)));
  youtube.takes(t, titled('👍'.repeat(50)));
  const sentence = (length: number) =>
    `The title is too long for YouTube: it takes 100 characters (an emoji counts 2 or more), and this is ${length}.`;
  youtube.refuses(t, titled('x'.repeat(101)), sentence(101));
  youtube.refuses(t, titled('👍'.repeat(51)), sentence(102));
});

test("a video without a title gets its text's first line, with a warning", (t) => {
  const untitled = film({ texts: ['\n First line \nSecond'], video: { made_for_kids: false } });
  youtube.takes(t, untitled);
  youtube.warns(t, untitled, `There is no title, so it will be the first line: "First line".`);
  youtube.warns(t, titled(' '), `There is no title, so it will be the first line: "About it".`);
});

test('a video with neither title nor text is refused', (t) => {
  const sentence =
    'YouTube needs a title: give the option title or video.title, or a text whose first line becomes it.';
  for (const texts of [[], [''], [' \n ']]) {
    youtube.refuses(t, film({ texts, video: { made_for_kids: false } }), sentence);
  }
});

const derived: readonly [text: string, title: string][] = [
  ['x'.repeat(100), 'x'.repeat(100)],
  ['x'.repeat(101), `${'x'.repeat(99)}…`],
  [`${'word '.repeat(19)}12345 tail`, `${'word '.repeat(19).trimEnd()}…`],
  [`${'word '.repeat(18)}123456789 tail`, `${'word '.repeat(18)}123456789…`],
  [`one ${'x'.repeat(200)}`, `one ${'x'.repeat(95)}…`],
  [family.repeat(12), `${family.repeat(9)}…`],
  [`a${family.repeat(12)}`, `a${family.repeat(8)}…`],
  [`a${'\u0301'.repeat(500)}`, `a${'\u0301'.repeat(98)}…`],
  ...['🇩🇪🇫🇷', '👍🏽👍🏽', family, '🏳️‍🌈🏳️‍🌈', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'].map((end): [string, string] => [
    `${'x'.repeat(97)}${end}`,
    `${'x'.repeat(97)}…`,
  ]),
  ['\u2028\r\nOne\u2028two', 'One'],
];
for (const [text, title] of derived) {
  test(`a text ${JSON.stringify(text.slice(0, 24))} of ${text.length} that ends with ${JSON.stringify(text.slice(-12))} gives a title that fits`, (t) => {
    t.deepEqual(titleOf(text), { text: title, isDerived: true });
    t.true(title.length <= 100);
  });
}

test('a description has up to 5000 bytes', (t) => {
  youtube.takes(t, film({ texts: ['x'.repeat(5000)] }));
  youtube.takes(t, film({ texts: ['é'.repeat(2500)] }));
  const sentence = (bytes: number) =>
    `The text is too long for YouTube: a description takes 5000 bytes of UTF-8, and this is ${bytes}.`;
  youtube.refuses(t, film({ texts: ['x'.repeat(5001)] }), sentence(5001));
  youtube.refuses(t, film({ texts: ['é'.repeat(2501)] }), sentence(5002));
  t.deepEqual(youtubeRules.validate(film({ texts: ['日本'] }), {}).texts, [
    { length: 6, limit: 5000, unit: 'bytes' },
  ]);
});

test('a thread is validated as the single description that it becomes', (t) => {
  t.false(youtubeRules.threads);
  youtube.takes(t, film({ texts: ['x'.repeat(2499), 'x'.repeat(2499)] }));
  youtube.refuses(
    t,
    film({ texts: ['x'.repeat(2500), 'x'.repeat(2499)] }),
    'The text is too long for YouTube: a description takes 5000 bytes of UTF-8, and this is 5001.',
  );
});

test('neither title nor description has angle brackets', (t) => {
  youtube.refuses(
    t,
    film({ texts: ['a <b> c'] }),
    'YouTube takes no < and no > in a description, and this has 2.',
  );
  youtube.refuses(t, titled('I <3 it'), 'YouTube takes no < and no > in a title, and this has 1.');
  youtube.refuses(
    t,
    film({ texts: ['1 > 0'], video: { made_for_kids: true } }),
    'YouTube takes no < and no > in a description, and this has 1.',
  );
});

test('a video has up to 256 GB and 12 h; one over 15 min has a warning', (t) => {
  const mostBytes = 256 * 1024 ** 3;
  const sized = (sizeBytes: number, durationMs: number) =>
    film({ media: [video({ sizeBytes, durationMs })] });
  youtube.takes(t, sized(mostBytes, 12 * 3_600_000));
  youtube.refuses(
    t,
    sized(mostBytes + 1, 12 * 3_600_000 + 1),
    '"clip.mp4" is too large for YouTube: a video may have up to 274,877,906,944 bytes, and this has 274,877,906,945 bytes.',
    '"clip.mp4" is too long for YouTube: a video may last up to 12 h, and this lasts 12 h 0.001 s.',
  );
  youtube.warns(t, sized(1000, 15 * 60_000));
  youtube.warns(
    t,
    sized(1000, 15 * 60_000 + 1000),
    '"clip.mp4" lasts 15 min 1 s; YouTube takes more than 15 min only from channels that it has verified.',
  );
});

test('an empty post gets an error for each missing field', (t) => {
  youtube.refuses(
    t,
    contentOf({}),
    'There is neither a text nor a file for YouTube.',
    'YouTube takes exactly 1 video in a post, and there is none.',
    'YouTube needs a title: give the option title or video.title, or a text whose first line becomes it.',
    'YouTube requires a statement whether the video is made for kids: set the option made_for_kids, or video.made_for_kids, to true or false.',
  );
});

test("options take precedence over the post's video fields", (t) => {
  const chosen = (chosenOptions: Content['options'], own: VideoOptions | null = null) =>
    film({ options: chosenOptions, video: own });
  youtube.takes(t, chosen({ title: 'Mine', made_for_kids: true, privacy: 'unlisted' }));
  youtube.warns(t, chosen({ title: 'Mine', made_for_kids: true }));
  youtube.takes(t, chosen({ title: 'x' }, { title: 'x <3', made_for_kids: false }));
});

test('tags have 500 characters in all, with their commas and quotation marks', (t) => {
  const tagged = (...tags: readonly string[]) => film({ options: { tags } });
  const parts = ['x'.repeat(240), `${'y'.repeat(200)} ${'z'.repeat(56)}`];
  t.is(tagsLength(parts), 500);
  youtube.takes(t, tagged('x'.repeat(500)));
  youtube.takes(t, tagged(...parts));
  const sentence =
    'The tags are too long for YouTube: it takes 500 characters in all (a comma between two counts 1, a tag with a space 2 more), and this is 501.';
  youtube.refuses(t, tagged('x'.repeat(501)), sentence);
  youtube.refuses(t, tagged(`${'x'.repeat(250)} ${'x'.repeat(248)}`), sentence);
  youtube.refuses(t, tagged(' '), 'YouTube takes no empty tag.');
  youtube.refuses(t, tagged('one, two'), 'A tag for YouTube must not contain a comma.');
  youtube.refuses(t, tagged('<b>'), 'YouTube takes no < and no > in tags, and this has 2.');
});

test('a thumbnail is a JPEG or PNG of up to 50 MiB', (t) => {
  const pictured = (thumbnail: Partial<AttachmentFacts>) =>
    film({ options: { thumbnail: 'id' }, optionFiles: { thumbnail: image(thumbnail) } });
  const most = 50 * 1024 ** 2;
  youtube.takes(t, film({ options: { thumbnail: 'of a file that is not known' } }));
  youtube.takes(t, pictured({ type: 'image/png', sizeBytes: most }));
  youtube.takes(t, pictured({ type: 'image/jpeg' }));
  youtube.refuses(
    t,
    pictured({ type: 'image/jpeg', sizeBytes: most + 1 }),
    '"photo.jpg" is too large for a YouTube thumbnail: a thumbnail may have up to 52,428,800 bytes, and this has 52,428,801 bytes.',
  );
  for (const type of ['image/gif', 'image/webp', 'video/mp4']) {
    youtube.refuses(
      t,
      pictured({ type }),
      `"photo.jpg" is of the wrong kind for a YouTube thumbnail: it takes image/jpeg and image/png, and this is "${type}".`,
    );
  }
});

test('the thumbnail of a Short has a warning that YouTube does not show it', (t) => {
  const pictured = (facts: Partial<AttachmentFacts>, thumbnail?: string) =>
    film({ media: [video(facts)], options: thumbnail === undefined ? {} : { thumbnail } });
  const vertical = { width: 270, height: 480, durationMs: 180_000 };
  for (const [facts, size] of [
    [vertical, '270 × 480'],
    [{ ...vertical, width: 480 }, '480 × 480'],
  ] as const) {
    youtube.warns(
      t,
      pictured(facts, 'id'),
      `YouTube shows no thumbnail of its own for a Short, and "clip.mp4" becomes one: it is vertical or square (${size}) and lasts up to 3 min.`,
    );
  }

  youtube.warns(t, pictured(vertical));
  youtube.warns(t, pictured({ ...vertical, width: 481 }, 'id'));
  youtube.warns(t, pictured({ ...vertical, durationMs: 180_001 }, 'id'));
  youtube.warns(t, pictured({ ...vertical, width: null }, 'id'));
});

test('a first comment needs a video with comments enabled', (t) => {
  const commented = (more: Content['options'] = {}, comment = 'First') =>
    film({ options: { first_comment: comment, ...more } });
  youtube.takes(t, commented());
  youtube.takes(t, commented({}, 'x'.repeat(10_000)));
  youtube.refuses(
    t,
    commented({}, 'x'.repeat(10_001)),
    'The first comment is too long for YouTube: it takes 10,000 characters, and this is 10001.',
  );
  youtube.refuses(t, commented({}, ' '), 'There is no text in the first comment.');
  youtube.refuses(
    t,
    commented({ made_for_kids: true }),
    'YouTube has no comments under a video made for kids.',
  );
  youtube.refuses(
    t,
    commented({ privacy: 'private' }),
    'YouTube takes no comments under a private video.',
  );
});
