import { readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Metadata } from 'sharp';

/** The Exif tag that points to the GPS data, a 32-bit number, in both byte orders. */
const gpsTags = [Buffer.from('2588040001000000', 'hex'), Buffer.from('8825000400000001', 'hex')];

/** Whether the metadata may contain the location. */
const hasLocation = ({ exif, xmp, comments = [] }: Metadata): boolean =>
  gpsTags.some((tag) => exif?.includes(tag)) ||
  /gps|latitude/iv.test(xmp?.toString('latin1') ?? '') ||
  // ImageMagick stores a JPEG's metadata like this in a PNG, compressed.
  comments.some(({ keyword }) => /^raw profile type (?:exif|app1|xmp)$/iv.test(keyword));

/**
 * Cuts off what follows the picture, such as the video of a motion photo, which has metadata of its own. If the
 * picture's metadata may contain the location, overwrites them in place: Exif keeps only the orientation, XMP and texts
 * become zeros. Those that decoders do not show before they read the pixels are always overwritten. Pixels and colour
 * profile stay, and no other byte moves. A GIF's comments, XMP and data of programs are always overwritten.
 */
export function removeLocation(filePath: string, metadata: Metadata): void {
  const { format, orientation = 1 } = metadata;
  const clean = { jpeg: cleanJpeg, png: cleanPng, webp: cleanWebp, gif: cleanGif }[String(format)];
  if (clean) {
    const bytes = readFileSync(filePath);
    const before = crc32(bytes);
    const end = clean({ bytes, orientation, hasLocation: hasLocation(metadata) });
    if (end < bytes.length || crc32(bytes) !== before) {
      writeFileSync(filePath, bytes.subarray(0, end));
    }
  }
}

type Picture = {
  readonly bytes: Buffer;
  readonly orientation: number;
  /** Whether the metadata before the pixels may contain the location. */
  readonly hasLocation: boolean;
};

const [exifMarker, othersMarker, photoshopMarker, scanMarker, endMarker] = [
  0xe1, 0xe2, 0xed, 0xda, 0xd9,
];
const exifName = 'Exif\0\0';
/** The index of further pictures in the file, and the parts of XMP beyond its first 64 KB. */
const unshown = /^(?:MPF\0|http:\/\/ns\.adobe\.com\/xmp\/extension\/)/v;

/** Like libjpeg, skips any bytes before the next marker. @returns where the picture ends. */
function cleanJpeg(picture: Picture): number {
  const { bytes } = picture;
  let erases = picture.hasLocation;
  let at = bytes.indexOf(0xff, 2);
  while (at !== -1 && at + 4 <= bytes.length) {
    const marker = bytes[at + 1] ?? 0;
    const isAlone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    let next = at + (marker === 0xff ? 1 : 2);
    if (marker === endMarker) {
      return next;
    }

    if (marker !== 0xff && !isAlone) {
      const start = at + 4;
      next += Math.max(2, bytes.readUInt16BE(at + 2));
      if (next > bytes.length) {
        break;
      }

      const name = bytes.toString('latin1', start, start + 40);
      erases ||= marker === scanMarker;
      if (erases && marker === exifMarker && name.startsWith(exifName)) {
        keepOrientation(picture, start + exifName.length, next);
      } else if (
        (erases && (marker === exifMarker || marker === photoshopMarker)) ||
        ((marker === exifMarker || marker === othersMarker) && unshown.test(name))
      ) {
        bytes.fill(0, start, next);
      }
    }

    at = bytes.indexOf(0xff, next);
  }

  return bytes.length;
}

type Chunk = {
  readonly name: string;
  readonly start: number;
  readonly end: number;
};

/** Yields the chunks of a PNG with the bounds of their data, up to the last one. */
export function* pngChunks(bytes: Buffer): Generator<Chunk> {
  for (let at = 8; at + 8 <= bytes.length;) {
    const name = bytes.toString('latin1', at + 4, at + 8);
    const end = at + 8 + bytes.readUInt32BE(at);
    yield { name, start: at + 8, end };
    at = name === 'IEND' ? bytes.length : end + 4;
  }
}

const texts = new Set(['tEXt', 'zTXt', 'iTXt']);

/** The name of an ancillary chunk that no program reads. */
const unknownChunk = 'voId';

/** @returns where the picture ends. */
function cleanPng(picture: Picture): number {
  const { bytes } = picture;
  let erases = picture.hasLocation;
  for (const { name, start, end } of pngChunks(bytes)) {
    if (name === 'IEND' || end + 4 > bytes.length) {
      return end + 4;
    }

    erases ||= name === 'IDAT';
    if (erases && (name === 'eXIf' || texts.has(name))) {
      if (name === 'eXIf') {
        keepOrientation(picture, start, end);
      } else {
        bytes.fill(0, start, end);
        bytes.write(unknownChunk, start - 4, 'latin1');
      }

      bytes.writeUInt32BE(crc32(bytes.subarray(start - 4, end)), end);
    }
  }

  return bytes.length;
}

/** @returns where the picture ends. */
function cleanWebp(picture: Picture): number {
  const { bytes } = picture;
  const pictureEnd = 8 + bytes.readUInt32LE(4);
  for (let at = 12; at + 8 <= Math.min(pictureEnd, bytes.length);) {
    const name = bytes.toString('latin1', at, at + 4);
    const [start, length] = [at + 8, bytes.readUInt32LE(at + 4)];
    if (picture.hasLocation && name === 'EXIF') {
      keepOrientation(picture, start, start + length);
    } else if (picture.hasLocation && name === 'XMP ') {
      bytes.fill(0, start, Math.min(start + length, bytes.length));
    }

    at = start + length + (length % 2);
  }

  return pictureEnd;
}

/** The blocks of a GIF that decoders need: frames, timing, texts drawn into them, loops and the colour profile. */
const [frameBlock, extensionBlock, endBlock] = [0x2c, 0x21, 0x3b];
const [timingLabel, textLabel, programLabel] = [0xf9, 0x01, 0xff];
const neededPrograms = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

/** @returns where the picture ends. */
function cleanGif({ bytes }: Picture): number {
  const byteAt = (at: number): number => bytes[at] ?? 0;
  const tableLength = (flags: number): number => (flags < 0x80 ? 0 : 3 * 2 ** ((flags % 8) + 1));
  for (let at = 13 + tableLength(byteAt(10)); at < bytes.length; at += 1) {
    const kind = byteAt(at);
    const label = byteAt(at + 1);
    const isNeeded =
      kind === frameBlock ||
      label === timingLabel ||
      label === textLabel ||
      (label === programLabel && neededPrograms.has(bytes.toString('latin1', at + 3, at + 14)));
    if (kind !== frameBlock && kind !== extensionBlock) {
      return kind === endBlock ? at + 1 : bytes.length;
    }

    at += kind === frameBlock ? 11 + tableLength(byteAt(at + 9)) : 2;
    for (let length = byteAt(at); length > 0; length = byteAt(at)) {
      if (!isNeeded) {
        bytes.fill(0, at + 1, Math.min(at + 1 + length, bytes.length));
      }

      at += 1 + length;
    }
  }

  return bytes.length;
}

/** Replaces Exif by a directory with only the orientation, if the space is large enough for it, and thus for a location. */
function keepOrientation({ bytes, orientation }: Picture, start: number, end: number): void {
  const exif = Buffer.from('49492a0008000000010012010300010000000000000000000000', 'hex');
  exif.writeUInt16LE(orientation, 18);
  const space = bytes.subarray(start, end).fill(0);
  space.set(exif.length <= space.length ? exif : []);
}
