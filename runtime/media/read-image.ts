import { appendFileSync } from 'node:fs';
import { decoding, sharp } from './decoding.ts';
import type { FileRefusal, PictureFacts } from './inspector.ts';
import { removeLocation } from './remove-location.ts';

const maxPixels = decoding.limitInputPixels;

/** sharp takes 0.2 s for the headers of as many frames of a WebP. Far more end at the child's time limit. */
const maxFrames = 10_000;

/**
 * Reads an image's header and the delays of an animation, and decodes the first frame. Removes locations and what
 * follows the picture, and appends the end marker when a JPEG lacks it.
 */
export async function readImage(filePath: string): Promise<PictureFacts | FileRefusal> {
  const image = await sharp(filePath)
    .metadata()
    .catch(() => null);
  if (!image || !(image.width > 0) || !(image.height > 0)) {
    return { refusal: 'The file begins like an image but cannot be read as one.' };
  }

  const { width, height } = image.autoOrient;
  if (width * height > maxPixels) {
    return {
      refusal: `The image has ${width} × ${height} pixels. The limit is ${maxPixels / 1_000_000} million.`,
    };
  }

  const { pages: frames = 1 } = image;
  if (frames > maxFrames) {
    return { refusal: `The animation has more than ${maxFrames} frames.` };
  }

  removeLocation(filePath, image);
  const refusal = await refusalByDecoding(filePath, image.format);
  if (refusal !== null) {
    return { refusal };
  }

  const durationMs = image.delay?.reduce((sum, delay) => sum + delay, 0) ?? 0;
  return {
    width,
    height,
    durationMs: durationMs > 0 ? Math.min(durationMs, 2 ** 31 - 1) : null,
    details: { frames },
  };
}

/** Some programs omit it. Viewers do not need it, networks do. */
const endOfJpeg = Buffer.from([0xff, 0xd9]);

async function refusalByDecoding(
  filePath: string,
  format: string | undefined,
): Promise<string | null> {
  let found = await decode(filePath, decoding.failOn);
  if (found === 'damaged' && format === 'jpeg') {
    // After the marker is appended, a truncated JPEG only causes a warning, so warnings count as errors here.
    appendFileSync(filePath, endOfJpeg);
    found = await decode(filePath, 'warning');
  }

  return found === 'whole' ? null : refusals[found];
}

const refusals = {
  damaged:
    'The image is incomplete or damaged. Save it again in an image editor, or send another file.',
  'too large': 'Decoding the image takes too much memory. Make it smaller.',
};

/** Decodes the whole first frame. Shrinking it on the way saves memory, and for a JPEG time. */
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
