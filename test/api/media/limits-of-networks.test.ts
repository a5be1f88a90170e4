import sharp from 'sharp';
import type { Platform } from '../../../networks/registry.ts';
import { sharedApi } from '../../support/kit.ts';
import { inputFile } from '../../support/input-file.ts';
import { longGif, picture } from '../../support/media-files.ts';
import { noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeChannel } from '../../support/seed.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

/** The validation of a post with this file, without the warning about the price of X. */
async function validated(platform: Platform, bytes: Uint8Array, fileName: string) {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { platform });
  const { body } = await upload(api.punctual, client, { bytes, fileName });
  const post = { channel_ids: [channel], body: 'Look', media_ids: [body.media.id] };
  const [said] = (await client.post('/posts/validate', post)).body.channels;
  return JSON.stringify([said.errors, said.warnings]);
}

/** An animation of two alternating colours: equal frames would be merged. */
async function gif(width: number, height: number, frames: number): Promise<Buffer> {
  const colours = await Promise.all(
    ['red', 'blue'].map((background) =>
      sharp({ create: { width, height, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const all = Array.from({ length: frames }, (_, index) => colours[index % 2] ?? Buffer.alloc(0));
  return sharp(all, { join: { animated: true } })
    .gif({ effort: 1, colours: 2 })
    .toBuffer();
}

const png = (width: number, height: number) => picture('png', { width, height });

const refused: readonly [platform: Platform, name: string, make: () => unknown, words: RegExp][] = [
  ['x', '400 frames.gif', () => inputFile('gif-400-frames.gif'), /too many frames for X/v],
  [
    'x',
    '1400 × 1200.gif',
    () => gif(1400, 1200, 2),
    /too many pixels for X: a GIF .* 1280 × 1080/v,
  ],
  ['x', '1080 × 9000.png', () => png(1080, 9000), /too many pixels for X: an image .* 8192/v],
  ['x', '2 × 2.png', () => png(2, 2), /too small for X: an image has 4 × 4 pixels/v],
  ['x', '240 fps.mp4', () => inputFile('frame-rate-240.mp4'), /too many frames per second for X/v],
  ['linkedin', '251 frames.gif', () => longGif(251), /too many frames for LinkedIn/v],
  [
    'mastodon',
    '240 fps.mp4',
    () => inputFile('frame-rate-240.mp4'),
    /too many frames per second for this Mastodon server/v,
  ],
  [
    'mastodon',
    'moving.webp',
    () => inputFile('webp-animated.webp'),
    /\[\[\],\[\{"message":"Mastodon shows/v,
  ],
  [
    'bluesky',
    'moving.webp',
    () => inputFile('webp-animated.webp'),
    /\[\[\],\[\{"message":"Bluesky shows/v,
  ],
];
for (const [platform, name, make, words] of refused) {
  test(`${platform} and ${name}: validation reports the limit of the network`, async (t) => {
    t.regex(await validated(platform, (await make()) as Buffer, name), words);
  });
}

test('X accepts a video of 150 s', async (t) => {
  t.regex(await validated('x', inputFile('lasts-150s.mp4'), 'long.mp4'), /^\[\[\],/v);
});
