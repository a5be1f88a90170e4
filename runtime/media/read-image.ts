import { appendFileSync, closeSync, openSync } from 'node:fs';
import { decoding, sharp } from './decoding.ts';
import type { FileRefusal, PictureFacts } from './inspector.ts';
import { createReader, hasLocation, removeMetadata, type Reader } from './remove-location.ts';

const maxPixels = decoding.limitInputPixels;

/** sharp reads the frame headers of a WebP in quadratic time: this many take 0.2 s, ten times as many 17 s. */
const maxFrames = 10_000;

/**
 * Reads an image's header and the delays of an animation, and decodes the first frame. Removes the location from the
 * metadata, and appends the end marker when a JPEG lacks it.
 */
export async function readImage(filePath: string): Promise<PictureFacts | FileRefusal> {
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
      refusal: `The image has ${width} × ${height} pixels. The limit is ${maxPixels / 1_000_000} million.`,
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

/**
 * Whether a WebP or a GIF has more frames than `most`. Skips from block to block by their lengths and decodes nothing.
 * Other checks refuse a truncated file. Blocks the process, which has no other work.
 */
function hasMoreFrames(filePath: string, most: number): boolean {
  const file = openSync(filePath, 'r');
  try {
    const reader = createReader(file);
    const beginning = Buffer.from(reader.at(0, 13)); // The reader reuses its buffer.
    const frames = beginning.toString('latin1', 0, 4) === 'RIFF' ? webpFrames : gifFrames;
    if (frames === gifFrames && beginning.toString('latin1', 0, 3) !== 'GIF') {
      return false;
    }

    const found = frames(reader, beginning);
    for (let count = 0; count <= most; count += 1) {
      if (found.next().done) {
        return false;
      }
    }

    return true;
  } finally {
    closeSync(file);
  }
}

/** RIFF chunks: a name, a length, that many bytes, and a padding byte when the length is odd. */
function* webpFrames(reader: Reader): Generator<void> {
  for (let position = 12; ;) {
    const chunk = reader.at(position, 8);
    if (chunk.length < 8) {
      return;
    }

    if (chunk.toString('latin1', 0, 4) === 'ANMF') {
      yield;
    }

    const length = chunk.readUInt32LE(4);
    position += 8 + length + (length % 2);
  }
}

const [extension, image] = [0x21, 0x2c];

/** GIF89a, appendix B: the header and its colour table, then extensions and images, both in sub-blocks. */
function* gifFrames(reader: Reader, beginning: Buffer): Generator<void> {
  for (let position = 13 + coloursOf(beginning[10]); ;) {
    const [kind] = reader.at(position, 1);
    if (kind === extension) {
      position += 2;
    } else if (kind === image) {
      yield;
      const [flags] = reader.at(position + 9, 1);
      position += 10 + coloursOf(flags) + 1; // The last byte is the code size.
    } else {
      return;
    }

    position = afterSubBlocks(reader, position);
  }
}

/** Length of a colour table, from the flags before it. */
const coloursOf = (flags = 0): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

function afterSubBlocks(reader: Reader, start: number): number {
  for (let position = start; ;) {
    const [length = 0] = reader.at(position, 1);
    position += 1 + length;
    if (length === 0) {
      return position;
    }
  }
}
