import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { inspectFile } from '../../../runtime/media/inspect-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { animation, picture, soundOnly, turnedPicture, video } from '../../support/media-files.ts';

/** What is found in these bytes, under a name that says nothing. */
async function inspect(t: ExecutionContext, bytes: Uint8Array | string) {
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);
  return inspectFile(file);
}

const still = { width: 30, height: 20, durationMs: null };

for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
  test(`a ${format} is an image with its size`, async (t) => {
    t.deepEqual(await inspect(t, await picture(format)), { type: `image/${format}`, ...still });
  });
}

test('an image that is shown turned has the size as it is shown', async (t) => {
  const bytes = await turnedPicture({ width: 30, height: 20 });

  t.like(await inspect(t, bytes), { width: 20, height: 30 });
});

for (const format of ['gif', 'webp'] as const) {
  test(`an animated ${format} lasts as long as its frames`, async (t) => {
    t.deepEqual(await inspect(t, await animation(format, [100, 250])), {
      type: `image/${format}`,
      width: 30,
      height: 20,
      durationMs: 350,
    });
  });
}

const videos = { mp4: 'video/mp4', mov: 'video/quicktime', webm: 'video/webm' } as const;
for (const [format, type] of Object.entries(videos)) {
  test(`a ${format} is a video with its size and its length`, async (t) => {
    t.deepEqual(await inspect(t, await video(format as keyof typeof videos)), {
      type,
      width: 320,
      height: 180,
      durationMs: 2000,
    });
  });
}

test('a video that is shown turned has the size as it is shown', async (t) => {
  t.like(await inspect(t, await video('mp4', 90)), { width: 180, height: 320 });
});

/** What an IHDR chunk says, with the right checksum, and nothing after it. */
async function pngOf(width: number, height: number): Promise<Buffer> {
  const bytes = Buffer.from(await picture('png'));
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  const { crc32 } = await import('node:zlib');
  bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
  return bytes;
}

const refused: Readonly<Record<string, () => Promise<Uint8Array | string>>> = {
  'an empty file': async () => '',
  'plain text': async () => 'This is a letter, and not a picture.',
  'a page that calls itself a picture': async () => '<html><img src=x></html>',
  'an SVG': async () => '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
  'an AVIF': () => picture('avif'),
  'a PDF': async () => '%PDF-1.7\n%âãÏÓ\n',
  'the beginning of a PNG': async () => (await picture('png')).subarray(0, 20),
  'the beginning of a JPEG': async () => (await picture('jpeg')).subarray(0, 15),
  'the beginning of an MP4': async () => (await video('mp4')).subarray(0, 60),
  'an MP4 with sound and no picture': soundOnly,
  'a PNG of 20,000 × 20,000 pixels': () => pngOf(20_000, 20_000),
};
for (const [name, make] of Object.entries(refused)) {
  test(`${name} is refused, with a reason`, async (t) => {
    const facts = await inspect(t, await make());

    t.regex('refusal' in facts ? facts.refusal : JSON.stringify(facts), /^The (?:file|image) /v);
  });
}

test('a picture of the most pixels is taken', async (t) => {
  t.like(await inspect(t, await pngOf(10_000, 10_000)), { width: 10_000, height: 10_000 });
});
