import { appendFileSync } from 'node:fs';
import sharp from 'sharp';
import { hasMoreFrames } from './count-frames.ts';
import { decoding } from './decoding.ts';
import type { PictureFacts, Refusal } from './media-facts.ts';
import { hasLocation, removeMetadata } from './remove-location.ts';

const maxPixels = decoding.limitInputPixels;

/** The library reads the headers of a WebP's frames in quadratic time: these take 0.2 s, ten times as many 17 s. */
const maxFrames = 10_000;

// What is a picture to us is nothing else to the library: it would read an SVG that begins like a GIF.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((format) => `VipsForeignLoad${format}`),
});

/**
 * Reads the header of an image and the delays between the frames of an animation, and decodes its first frame. Takes out
 * where a photo was taken, and adds the end marker that a JPEG lacks.
 */
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

  if (hasLocation(image)) {
    removeMetadata(filePath, image);
  }

  const refusal = await refusalByDecoding(filePath, image.format);
  if (refusal !== null) {
    return { refusal };
  }

  const durationMs = image.delay?.reduce((sum, delay) => sum + delay, 0) ?? 0;
  return {
    width,
    height,
    durationMs: durationMs > 0 ? Math.min(durationMs, 2 ** 31 - 1) : null,
    details: { frames: image.pages ?? 1 },
  };
}

/** Some programs leave it out; no viewer misses it, and networks do. */
const endOfJpeg = Buffer.from([0xff, 0xd9]);

async function refusalByDecoding(
  filePath: string,
  format: string | undefined,
): Promise<string | null> {
  let found = await decode(filePath, decoding.failOn);
  if (found === 'damaged' && format === 'jpeg') {
    // With the marker a JPEG that breaks off is worth only a warning to the library, so warnings count here.
    appendFileSync(filePath, endOfJpeg);
    found = await decode(filePath, 'warning');
  }

  return found === 'whole' ? null : refusals[found];
}

const refusals = {
  damaged:
    'The image breaks off before its end or is damaged. Save it anew in an image editor, or send another file.',
  'too large': 'The image takes too much memory to be decoded. Make it smaller.',
};

/**
 * Decodes the first frame to its last line. It is made small on the way: that takes little memory, and for a JPEG little
 * time.
 */
async function decode(
  filePath: string,
  failOn: 'error' | 'warning',
): Promise<'whole' | keyof typeof refusals> {
  try {
    const image = sharp(filePath, { ...decoding, failOn });
    await image.resize(64, 64, { fit: 'fill' }).raw().toBuffer();
    return 'whole';
  } catch (error) {
    return /memory/iv.test(String(error)) ? 'too large' : 'damaged';
  }
}
