import { writeFileSync, writeSync } from 'node:fs';
import sharp from 'sharp';
import { decoding } from './decoding.ts';
import { liveAsChild } from './live-as-child.ts';
import type { SmallerImage } from './shrink-image.ts';

// A program: makes the image that its first argument names small enough, and writes it where the second one says.
// `shrink-image.ts` bounds it.

liveAsChild();

// What is a picture to us is nothing else to the library: it would read an SVG that begins like a GIF.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((format) => `VipsForeignLoad${format}`),
});
sharp.cache(false);

/** The longer side in pixels, and the quality. As much as possible is kept: the first that is small enough counts. */
const attempts = [
  [4000, 88],
  [4000, 78],
  [3000, 78],
  [2400, 76],
  [2000, 74],
  [1600, 70],
  [1200, 64],
  [900, 56],
  [600, 50],
] as const;

async function shrink(
  from: string,
  to: string,
  {
    maxBytes,
    maxSide,
    isOpaque,
  }: { readonly maxBytes: number; readonly maxSide: number; readonly isOpaque: boolean },
): Promise<SmallerImage | null> {
  // The first frame of an animation; without a file's metadata, which may say where it was taken.
  const image = sharp(from, decoding).autoOrient();
  const keepsAlpha = (await image.metadata()).hasAlpha && !isOpaque;
  for (const [longest, quality] of attempts) {
    const side = Math.min(longest, maxSide);
    const resized = image
      .clone()
      .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
    const encoded = keepsAlpha
      ? resized.webp({ quality })
      : resized.flatten({ background: '#ffffff' }).jpeg({ quality });
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
    if (data.length <= maxBytes) {
      writeFileSync(to, data, { mode: 0o600 });
      const { width, height } = info;
      return { type: keepsAlpha ? 'image/webp' : 'image/jpeg', width, height };
    }
  }

  return null;
}

const [, , from = '', to = '', maxBytes, maxSide, isOpaque] = process.argv;
const bounds = {
  maxBytes: Number(maxBytes),
  maxSide: Number(maxSide),
  isOpaque: isOpaque === 'true',
};
const made = await shrink(from, to, bounds).catch(nullUnlessUnread);
writeSync(1, JSON.stringify(made));
process.exit(0);

/** What the library cannot decode is no picture. One that could not be read or written may be one. */
function nullUnlessUnread(error: unknown): null {
  if (error instanceof RangeError || (error instanceof Error && 'syscall' in error)) {
    throw error;
  }

  return null;
}
