import test, { type ExecutionContext } from 'ava';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInspector } from '../../runtime/media/inspector.ts';
import { inputFile } from '../support/input-file.ts';
import { video } from '../support/media-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const inspector = createInspector({ waitMs: 300_000, timeoutMs: 300_000 });

async function inspect(t: ExecutionContext, bytes: Uint8Array) {
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);
  return inspector.inspect(file, 'a workspace');
}

const details: Readonly<Record<string, readonly [() => Promise<Buffer> | Buffer, object]>> = {
  'a GIF of 400 frames': [() => inputFile('gif-400-frames.gif'), { frames: 400 }],
  'an animated WebP': [() => inputFile('webp-animated.webp'), { frames: 3 }],
  'an animated PNG': [() => inputFile('png-animated.png'), { frames: 8 }],
  'H.264 in 240 frames per second': [
    () => inputFile('frame-rate-240.mp4'),
    { frameRate: 240, videoCodec: 'avc', chroma: '4:2:0', bitDepth: 8, pixelAspect: 1 },
  ],
  'H.264 in 4:4:4': [
    () => video('mp4', { pixels: { profile: 244, chroma: 3, bitDepth: 8 } }),
    { chroma: '4:4:4', bitDepth: 8, frameRate: 10 },
  ],
  'H.264 of 10 bits': [
    () => video('mov', { pixels: { profile: 110, chroma: 1, bitDepth: 10 } }),
    { chroma: '4:2:0', bitDepth: 10 },
  ],
  'pixels that are not square': [() => video('mp4', { pixelAspect: 2 }), { pixelAspect: 2 }],
  'sound in 5.1': [
    () => video('mp4', { sound: 'aac-5.1' }),
    { audioCodec: 'aac', audioProfile: 'mp4a.40.2', audioChannels: 6 },
  ],
  'sound in HE-AAC': [() => video('mp4', { sound: 'he-aac' }), { audioProfile: 'mp4a.40.5' }],
  'sound in MP3': [() => video('mp4', { sound: 'mp3' }), { audioCodec: 'mp3' }],
  'VP9 without sound': [
    () => video('webm'),
    { videoCodec: 'vp9', audioCodec: undefined, audioChannels: undefined },
  ],
};
for (const [what, [make, expected]] of Object.entries(details)) {
  test(`${what}: the details say so`, async (t) => {
    t.like(await inspect(t, await make()), { details: expected });
  });
}

test('an animated PNG of a bug report lasts as long as its frames', async (t) => {
  t.like(await inspect(t, inputFile('png-animated.png')), {
    type: 'image/png',
    width: 120,
    height: 90,
    durationMs: 800,
  });
});
