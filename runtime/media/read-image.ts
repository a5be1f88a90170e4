import { readFileSync } from 'node:fs';
import type { Metadata } from 'sharp';
import {
  decoding,
  hasManyFrames,
  hasManyScans,
  maxFrames,
  profileOptions,
  sharp,
} from './decoding.ts';
import type { FileRefusal, PictureFacts } from './inspector.ts';
import { pngChunks, removeLocation } from './remove-location.ts';

const maxPixels = decoding.limitInputPixels;

const manyFrames = { refusal: `The animation has more than ${maxFrames} frames.` };

/**
 * Reads an image's header and the delays of an animation, decodes the first frame, and removes locations and what
 * follows the picture.
 */
export async function readImage(filePath: string): Promise<PictureFacts | FileRefusal> {
  if (hasManyFrames(filePath)) {
    return manyFrames;
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
      refusal: `The image has ${width} × ${height} pixels. The limit is ${maxPixels / 1_000_000} million.`,
    };
  }

  const { frames, delayMs } = animationOf(filePath, image);
  if (frames > maxFrames) {
    return manyFrames;
  }

  removeLocation(filePath, image);
  if (hasManyScans(filePath, image.format)) {
    return { refusal: 'The JPEG has more than 50 scans. Save it again in an image editor.' };
  }

  const refusal = await refusalByDecoding(filePath, image);
  if (refusal !== null) {
    return { refusal };
  }

  return {
    width,
    height,
    durationMs: delayMs > 0 ? Math.min(Math.round(delayMs), 2 ** 31 - 1) : null,
    details: { frames },
  };
}

type Animation = { readonly frames: number; readonly delayMs: number };

/** sharp reads an animated PNG as a still one. */
const animationOf = (filePath: string, { format, pages = 1, delay = [] }: Metadata): Animation =>
  format === 'png'
    ? pngAnimation(readFileSync(filePath))
    : { frames: pages, delayMs: delay.reduce((sum, one) => sum + one, 0) };

/** Source: https://www.w3.org/TR/png-3/#apng-frame-based-animation */
function pngAnimation(bytes: Buffer): Animation {
  let [frames, delayMs] = [1, 0];
  for (const { name, start, end } of pngChunks(bytes)) {
    const data = bytes.subarray(start, end);
    if (name === 'acTL' && data.length >= 4) {
      frames = Math.max(1, data.readUInt32BE(0));
    } else if (name === 'IDAT' && frames === 1) {
      break; // The announcement of an animation counts before the pixels only.
    } else if (name === 'fcTL' && data.length === 26) {
      delayMs += (1000 * data.readUInt16BE(20)) / (data.readUInt16BE(22) || 100);
    }
  }

  return { frames, delayMs: frames > 1 ? delayMs : 0 };
}

/** Decodes the whole first frame. Shrinking it on the way saves memory, and for a JPEG time. */
async function refusalByDecoding(filePath: string, image: Metadata): Promise<string | null> {
  try {
    const options = { ...decoding, ...profileOptions(image) };
    await sharp(filePath, options).resize(64, 64, { fit: 'fill' }).raw().toBuffer();
    return null;
  } catch (error) {
    return /memory/iv.test(String(error))
      ? 'Decoding the image takes too much memory. Make it smaller.'
      : 'The image is incomplete or damaged. Save it again in an image editor, or send another file.';
  }
}
