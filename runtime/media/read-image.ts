import sharp from 'sharp';
import { hasMoreFrames } from './has-more-frames.ts';
import type { PictureFacts, Refusal } from './media-facts.ts';

/** Of one frame. No network takes a third of it; decoded, it would be 400 MB. */
const maxPixels = 100_000_000;

/** The library reads the headers of a WebP's frames in quadratic time: these take 0.2 s, ten times as many 17 s. */
const maxFrames = 10_000;

// What is a picture to us is nothing else to the library: it would read an SVG that begins like a GIF.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((format) => `VipsForeignLoad${format}`),
});

/** Reads the header of an image, and the delays between the frames of an animation. Decodes nothing. */
export async function readImage(filePath: string): Promise<PictureFacts | Refusal> {
  if (hasMoreFrames(filePath, maxFrames)) {
    return { refusal: `The animation has more than ${maxFrames} frames.` };
  }

  const image = await sharp(filePath)
    .metadata()
    .catch(() => null);
  if (!image || !(image.width > 0) || !(image.height > 0)) {
    return { refusal: 'The file begins like an image but cannot be read as one.' };
  }

  const { width, height } = image.autoOrient;
  if (width * height > maxPixels) {
    return {
      refusal: `The image has ${width} × ${height} pixels; ${maxPixels / 1_000_000} million are the most.`,
    };
  }

  const durationMs = image.delay?.reduce((sum, delay) => sum + delay, 0) ?? 0;
  return { width, height, durationMs: durationMs > 0 ? Math.min(durationMs, 2 ** 31 - 1) : null };
}
