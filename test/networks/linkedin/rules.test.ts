import test from 'ava';
import { littleText, plainText } from '../../../networks/linkedin/posts.ts';
import { rules as linkedinRules } from '../../../networks/linkedin/rules.ts';
import { shownText } from '../../../sandbox/linkedin/little-text.ts';
import { against, contentOf, filesOf, image, textOf, times, video } from '../content.ts';

const linkedin = against(linkedinRules);

const little: readonly [text: string, sent: string][] = [
  ['', ''],
  [
    'Plain text, with "quotes" & more: 100 % – ok?',
    'Plain text, with "quotes" & more: 100 % – ok?',
  ],
  ['\\|{}@[]()<>#*_~', '\\\\\\|\\{\\}\\@\\[\\]\\(\\)\\<\\>\\#\\*\\_\\~'],
  ['Hi (all) of you', 'Hi \\(all\\) of you'],
  ['#news', '{hashtag|\\#|news}'],
  [
    'Big #News, #2026goals and (#día)',
    'Big {hashtag|\\#|News}, {hashtag|\\#|2026goals} and \\({hashtag|\\#|día}\\)',
  ],
  ['#日本語 #नमस्ते', '{hashtag|\\#|日本語} {hashtag|\\#|नमस्ते}'],
  ['#1 is no hashtag, nor is a#b or # alone', '\\#1 is no hashtag, nor is a\\#b or \\# alone'],
  ['#snake_case', '{hashtag|\\#|snake}\\_case'],
  ['#\uFE0F\u20E3Marketing', '\\#\uFE0F\u20E3Marketing'],
  ['#\u20E3a #\u0308b #1\uFE0F\u20E3st', '\\#\u20E3a \\#\u0308b \\#1\uFE0F\u20E3st'],
  ['#cafe\u0301', '{hashtag|\\#|cafe\u0301}'],
  ['https://example.com/a_b(c)#part', 'https://example.com/a\\_b\\(c\\)\\#part'],
  ['@[Acme](urn:li:organization:1)', '\\@\\[Acme\\]\\(urn:li:organization:1\\)'],
  ['{hashtag|\\#|x}', '\\{hashtag\\|\\\\\\#\\|x\\}'],
  ['a\nb\\n', 'a\nb\\\\n'],
];
for (const [text, sent] of little) {
  test(`${JSON.stringify(text)} is escaped so that LinkedIn shows it unchanged`, (t) => {
    t.is(littleText(text), sent);
    t.is(shownText(littleText(text)), text, 'the sandbox shows it unchanged');
    t.is(plainText(littleText(text)), text);
  });
}

test('3000 characters fit without counting escapes, and no more', (t) => {
  linkedin.takes(t, textOf('x'.repeat(3000)));
  linkedin.takes(t, textOf('('.repeat(3000)));
  linkedin.takes(t, textOf('👍'.repeat(1500)));
  const sentence = (length: number) =>
    `The text is too long for LinkedIn: it takes 3000 characters (an emoji counts 2 or more), and this is ${length}.`;
  linkedin.refuses(t, textOf('x'.repeat(3001)), sentence(3001));
  linkedin.refuses(t, textOf('👍'.repeat(1501)), sentence(3002));
});

test('a thread is validated as the single text that it becomes', (t) => {
  t.false(linkedinRules.threads);
  const parts = textOf('x'.repeat(1499), 'x'.repeat(1499));
  linkedin.takes(t, parts);
  t.is(linkedinRules.validate(parts, {}).texts[0]?.length, 3000);
  linkedin.refuses(
    t,
    textOf('x'.repeat(1500), 'x'.repeat(1499)),
    'The text is too long for LinkedIn: it takes 3000 characters (an emoji counts 2 or more), and this is 3001.',
  );
});

test('files may be published without a text', (t) => {
  linkedin.takes(t, contentOf({ media: [image()] }));
  linkedin.takes(t, contentOf({ texts: [''], media: [image()] }));
});

test('one image, up to 20, or one video', (t) => {
  const types = ['image/jpeg', 'image/png', 'image/gif'];
  for (const type of types) {
    linkedin.takes(t, filesOf(image({ type })));
  }
  linkedin.takes(t, filesOf(...times(20, image())));
  linkedin.takes(t, filesOf(video()));
  const takes = 'LinkedIn takes up to 20 images, or 1 video in a post, and there are';
  linkedin.refuses(t, filesOf(...times(21, image())), `${takes} 21 images.`);
  linkedin.refuses(t, filesOf(video(), video()), `${takes} 2 videos.`);
  linkedin.refuses(t, filesOf(image(), video()), `${takes} 1 image and 1 video.`);
});

test('a GIF has up to 250 frames', (t) => {
  const gif = (frames: number) =>
    filesOf(image({ name: 'a.gif', type: 'image/gif', details: { frames } }));
  linkedin.takes(t, gif(250));
  linkedin.refuses(
    t,
    gif(251),
    '"a.gif" has too many frames for LinkedIn: an image may have up to 250, and this has 251.',
  );
});

test('an image has fewer than 36,152,320 pixels', (t) => {
  linkedin.takes(t, filesOf(image({ width: 36_152_319, height: 1 })));
  linkedin.refuses(
    t,
    filesOf(image({ width: 36_152_320, height: 1 })),
    '"photo.jpg" has too many pixels for LinkedIn: an image may have up to 36,152,319 pixels, and this has 36,152,320 (36152320 × 1).',
  );
});

test('a video has from 75 KB to 500 MB and lasts from 3 s to 30 min', (t) => {
  const mostBytes = 500 * 1024 * 1024;
  linkedin.takes(t, filesOf(video({ sizeBytes: 75_000, durationMs: 3000 })));
  linkedin.takes(t, filesOf(video({ sizeBytes: mostBytes, durationMs: 1_800_000 })));
  linkedin.refuses(
    t,
    filesOf(video({ sizeBytes: 74_999, durationMs: 2999 })),
    '"clip.mp4" is too small for LinkedIn: a video has 75,000 bytes or more, and this has 74,999 bytes.',
    '"clip.mp4" is too short for LinkedIn: a video may last from 3 s to 30 min, and this lasts 2.999 s.',
  );
  linkedin.refuses(
    t,
    filesOf(video({ sizeBytes: mostBytes + 1, durationMs: 1_800_001 })),
    '"clip.mp4" is too large for LinkedIn: a video may have up to 524,288,000 bytes, and this has 524,288,001 bytes.',
    '"clip.mp4" is too long for LinkedIn: a video may last from 3 s to 30 min, and this lasts 30 min 0.001 s.',
  );
});

test('an error names a type of file that LinkedIn does not accept', (t) => {
  const takes = 'LinkedIn: it takes image/jpeg, image/png, image/gif and video/mp4';
  for (const file of [image({ type: 'image/webp' }), video({ type: 'video/quicktime' })]) {
    const sentence = `"${file.name}" is of the wrong kind for ${takes}, and this is "${file.type}".`;
    linkedin.refuses(t, filesOf(file), sentence);
  }
});

test('a first comment has from 1 to 1250 characters', (t) => {
  const commented = (first_comment: string) =>
    contentOf({ texts: ['Hi'], options: { first_comment } });
  linkedin.takes(t, commented('x'.repeat(1250)));
  linkedin.refuses(
    t,
    commented('x'.repeat(1251)),
    'The first comment is too long for LinkedIn: it takes 1,250 characters, and this is 1251.',
  );
  linkedin.refuses(t, commented(' \n'), 'There is no text in the first comment.');
});

test('a member may post for connections only, and a page may not', (t) => {
  const content = contentOf({ texts: ['Hi'], options: { visibility: 'CONNECTIONS' } });
  linkedin.takes(t, content);
  const page = against(linkedinRules, { isOrganization: true });
  page.refuses(
    t,
    content,
    'The page of an organisation has no connections: its visibility on LinkedIn must be PUBLIC, not CONNECTIONS.',
  );
  page.takes(t, contentOf({ texts: ['Hi'], options: { visibility: 'PUBLIC' } }));
});

test('the alt text of a video is left out, with a warning', (t) => {
  linkedin.warns(
    t,
    filesOf(video({ altText: 'A fox' })),
    'LinkedIn has no alt text for videos: that of "clip.mp4" is left out.',
  );
  linkedin.warns(t, filesOf(image({ altText: 'A fox' })));
});
