import { writeFileSync, writeSync } from 'node:fs';
import { decoding, hasManyFrames, hasManyScans, profileOptions, sharp } from './decoding.ts';
import { endWithParent, nullUnlessSystemError } from './run-bounded.ts';
import type { SmallerImage } from './shrink-image.ts';

// A program: shrinks the image that its first argument names and writes it to the second. `shrink-image.ts` sets its
// limits.

endWithParent();

sharp.cache(false);

/** Longer side in pixels and quality, best first. The first result that is small enough is used. */
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

const [, , from = '', to = '', maxBytes, maxSide, isOpaque, maxPixels] = process.argv;

async function shrink(): Promise<SmallerImage | null> {
  const limitInputPixels = Math.min(Number(maxPixels), decoding.limitInputPixels);
  const options = { ...decoding, limitInputPixels };
  const metadata = hasManyFrames(from) ? null : await sharp(from, options).metadata();
  if (!metadata || hasManyScans(from, metadata.format)) {
    return null;
  }

  // First frame only, without metadata, which may contain the location.
  const image = sharp(from, { ...options, ...profileOptions(metadata) }).autoOrient();
  const keepsAlpha = metadata.hasAlpha && isOpaque !== 'true';
  let mostPromising = Infinity;
  for (const [longest, quality] of attempts) {
    const side = Math.min(longest, Number(maxSide));
    if (side > mostPromising) {
      continue; // Each size of a noisy picture takes seconds.
    }

    const resized = image.clone().resize(side, side, { fit: 'inside', withoutEnlargement: true });
    const encoded = keepsAlpha
      ? resized.webp({ quality, effort: 2 })
      : resized.flatten({ background: '#ffffff' }).jpeg({ quality });
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
    if (data.length <= Number(maxBytes)) {
      writeFileSync(to, data, { mode: 0o600 });
      const { width, height } = info;
      return { type: keepsAlpha ? 'image/webp' : 'image/jpeg', width, height };
    }

    const fits = Math.max(info.width, info.height) * Math.sqrt(Number(maxBytes) / data.length);
    mostPromising = Math.max(600, fits * 1.5);
  }

  return null;
}

const made = await shrink().catch(nullUnlessSystemError);
writeSync(1, JSON.stringify(made));
process.exit(0);
