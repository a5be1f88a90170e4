import test from 'ava';
import type { MediaDetails } from '../../../domain/media.ts';
import { xRules } from '../../../networks/x/rules.ts';
import { against, filesOf, image, video } from '../content.ts';

const x = against(xRules({ post: 0, linkPost: 0 }, 24));

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

const doubtful: readonly [details: MediaDetails, words: string][] = [
  [{ frameRate: 60.02 }, 'a video may have up to 60 frames per second, and this has 60.02'],
  [{ bitDepth: 10 }, 'it is made for videos of 8 bits, and this has 10'],
  [{ videoCodec: 'hevc' }, 'it is made for videos in H.264, and this is in hevc'],
];
for (const [details, words] of doubtful) {
  test(`a video with ${JSON.stringify(details)} is accepted with a warning`, (t) => {
    const film = filesOf(video({ details: { ...plainVideo, ...details } }));
    x.takes(t, film);
    x.warns(t, film, `X may refuse "clip.mp4": ${words}.`);
  });
}
