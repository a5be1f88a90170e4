import sharp from 'sharp';
import type { PictureFacts } from './inspect-file.ts';

/** Of one frame. No network takes a third of it; decoded, it would be 400 MB. */
const maxPixels = 100_000_000;

// It would keep files open that are about to be moved or removed.
sharp.cache(false);

/** Reads the header of an image, and the delays between the frames of an animation. Decodes nothing. */
export async function inspectImage(filePath: string): Promise<PictureFacts | { refusal: string }> {
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
