import { RichText } from '@atproto/api';
import test from 'ava';
import { rules as blueskyRules } from '../../../networks/bluesky/rules.ts';
import { against, contentOf, family, filesOf, image, textOf, times, video } from '../content.ts';

const bluesky = against(blueskyRules);

const tooLong = 'The text is too long for Bluesky: it takes';

test('300 characters fit, whatever their code points', (t) => {
  for (const text of ['x'.repeat(300), '한'.repeat(300), '🇫🇷'.repeat(300)]) {
    bluesky.takes(t, textOf(text));
    t.deepEqual(blueskyRules.validate(textOf(text), {}).texts, [
      { length: 300, limit: 300, unit: 'graphemes' },
    ]);
  }
});

test('301 characters do not fit', (t) => {
  bluesky.refuses(t, textOf('é'.repeat(301)), `${tooLong} 300 characters, and this is 301.`);
  bluesky.refuses(
    t,
    textOf('One', 'x'.repeat(302)),
    `Part 2: ${tooLong} 300 characters, and this is 302.`,
  );
});

test('3000 bytes fit and no more, also if they are few characters', (t) => {
  bluesky.takes(t, textOf(family.repeat(120)));
  const long = textOf(family.repeat(121));
  bluesky.refuses(t, long, `${tooLong} 3000 bytes of UTF-8, and this is 3025.`);
  t.deepEqual(blueskyRules.validate(long, {}).texts, [
    { length: 3025, limit: 3000, unit: 'bytes' },
  ]);
});

test('a text that exceeds both limits gets both errors', (t) => {
  bluesky.refuses(
    t,
    textOf(family.repeat(301)),
    `${tooLong} 300 characters, and this is 301.`,
    `${tooLong} 3000 bytes of UTF-8, and this is 7525.`,
  );
});

test('characters are counted as Bluesky counts them', (t) => {
  for (const text of [family, 'e\u0301', '👍🏽👍', '\r\n\n', 'ไทย', 'नमस्ते', '🏴󠁧󠁢󠁳󠁣󠁴󠁿']) {
    const long = `!${text.repeat(301)}!`;
    const { graphemeLength } = new RichText({ text: long });
    const [error = ''] = blueskyRules.validate(textOf(long), {}).errors;
    t.is(error, `${tooLong} 300 characters, and this is ${graphemeLength}.`);
  }
});

test('links and mentions count at their full length', (t) => {
  for (const text of ['https://example.com/path', 'example.com', '@alice.example.com hi']) {
    bluesky.measures(t, text, text.length);
  }
});

test('up to four images, or one video', (t) => {
  bluesky.takes(t, filesOf(...times(4, image())));
  bluesky.takes(t, filesOf(video()));
  bluesky.takes(t, contentOf({ media: [image()] }));
  const takes = 'Bluesky takes up to 4 images, or 1 video in a post, and there are';
  bluesky.refuses(t, filesOf(...times(5, image())), `${takes} 5 images.`);
  bluesky.refuses(t, filesOf(video(), video()), `${takes} 2 videos.`);
  bluesky.refuses(t, filesOf(image(), video()), `${takes} 1 image and 1 video.`);
});

test('an image of more than 2,000,000 bytes is accepted, with a warning that a smaller version is published', (t) => {
  const sized = (sizeBytes: number) => filesOf(image({ sizeBytes }));
  const warning = (limit: string, actual: string) =>
    `Bluesky takes images of up to ${limit}, and "photo.jpg" has ${actual}: it goes out smaller, as a JPEG, or as a WebP where it has transparency.`;
  bluesky.takes(t, sized(2_000_000));
  bluesky.warns(t, sized(2_000_000));
  bluesky.takes(t, sized(50_000_000));
  bluesky.warns(t, sized(2_000_001), warning('2,000,000 bytes', '2,000,001 bytes'));
  bluesky.warns(t, sized(6_300_000), warning('2.0 MB', '6.3 MB'));
  bluesky.refuses(
    t,
    sized(50_000_001),
    '"photo.jpg" is too large for Bluesky: an image may have up to 50,000,000 bytes, and this has 50,000,001 bytes.',
  );
});

test('a video may have up to 100 MB if its server names no limit', (t) => {
  const sized = (sizeBytes: number) => filesOf(video({ sizeBytes }));
  bluesky.takes(t, sized(100_000_000));
  bluesky.warns(t, sized(100_000_000));
  bluesky.refuses(
    t,
    sized(100_000_001),
    '"clip.mp4" is too large for Bluesky: a video may have up to 100,000,000 bytes, and this has 100,000,001 bytes.',
  );
  against(blueskyRules, { blobUploadLimit: 'large' }).takes(t, sized(100_000_000));
});

test("the server's blob limit decides the size of videos and images", (t) => {
  const clip = (sizeBytes: number) => filesOf(video({ sizeBytes }));
  const small = against(blueskyRules, { blobUploadLimit: 5_242_880 });
  small.takes(t, clip(5_242_880));
  small.refuses(
    t,
    clip(6_000_000),
    '"clip.mp4" is too large for Bluesky: a video may have up to 5.2 MB, and this has 6.0 MB.',
  );
  const large = against(blueskyRules, { blobUploadLimit: 150_000_000 });
  large.takes(t, clip(150_000_000));
  large.warns(t, clip(150_000_000));
  const tiny = against(blueskyRules, { blobUploadLimit: 500_000 });
  tiny.warns(
    t,
    filesOf(image({ sizeBytes: 600_000 })),
    'Bluesky takes images of up to 0.5 MB, and "photo.jpg" has 0.6 MB: it goes out smaller, as a JPEG, or as a WebP where it has transparency.',
  );
});

test('a video must be an mp4', (t) => {
  bluesky.refuses(
    t,
    filesOf(video({ name: 'a.mov', type: 'video/quicktime' })),
    '"a.mov" is of the wrong kind for Bluesky: it takes image/* and video/mp4, and this is "video/quicktime".',
  );
});

test('media that Bluesky shows differently than expected has a warning', (t) => {
  const gif = filesOf(image({ name: 'cat.gif', type: 'image/gif' }));
  bluesky.takes(t, gif);
  bluesky.warns(t, gif, 'Bluesky shows a GIF as a still image, and "cat.gif" is one.');

  bluesky.warns(
    t,
    filesOf(image({ name: 'a.heic', type: 'image/heic' })),
    'Bluesky\'s apps may not show "a.heic": they are made for JPEG, PNG and WebP.',
  );
  bluesky.warns(t, filesOf(video({ durationMs: 180_000 })));
  bluesky.warns(
    t,
    filesOf(video({ durationMs: 181_000 })),
    '"clip.mp4" lasts 3 min 1 s; Bluesky\'s apps are made for videos of up to 3 min.',
  );
});
