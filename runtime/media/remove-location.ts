import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Metadata } from 'sharp';
import { createReader, endMarker, jpegSegments, pngChunks, type Reader } from './picture-blocks.ts';

/** The Exif tag that points to the GPS data, a 32-bit number, in both byte orders. */
const gpsTags = [Buffer.from('2588040001000000', 'hex'), Buffer.from('8825000400000001', 'hex')];

/** Whether the metadata may contain the location. */
const hasLocation = ({ exif, xmp, comments = [] }: Metadata): boolean =>
  gpsTags.some((tag) => exif?.includes(tag)) ||
  /gps|latitude/iv.test(xmp?.toString('latin1') ?? '') ||
  // ImageMagick stores a JPEG's metadata like this in a PNG, compressed.
  comments.some(({ keyword }) => /^raw profile type (?:exif|app1|xmp)$/iv.test(keyword));

/**
 * Cuts off what follows the picture, such as a second picture or the video of a motion photo, which have metadata of
 * their own. If the picture's metadata may contain the location, overwrites them in place: Exif keeps only the
 * orientation, XMP and texts become zeros. Those that decoders do not show before they read the pixels are always
 * overwritten. Pixels and colour profile stay, and no other byte moves.
 */
export function removeLocation(filePath: string, metadata: Metadata): void {
  const { format, orientation = 1 } = metadata;
  const blocksOf = { jpeg: jpegBlocks, png: pngBlocks, webp: webpBlocks, gif: gifBlocks };
  const file = openSync(filePath, 'r+');
  try {
    const { size } = fstatSync(file);
    const target = { file, size, orientation, hasLocation: hasLocation(metadata) };
    const end = blocksOf[format as keyof typeof blocksOf](createReader(file), target) ?? size;
    if (end < size) {
      ftruncateSync(file, end);
    }
  } finally {
    closeSync(file);
  }
}

type Target = {
  readonly file: number;
  /** Blocks that claim to extend beyond it stay unchanged: writing them would grow the file by up to 4 GB. */
  readonly size: number;
  readonly orientation: number;
  /** Whether the metadata before the pixels may contain the location. */
  readonly hasLocation: boolean;
};

const [exifMarker, othersMarker, photoshopMarker, scanMarker] = [0xe1, 0xe2, 0xed, 0xda];
const exifName = 'Exif\0\0';
/** The index of further pictures in the file, and the parts of XMP beyond its first 64 KB. */
const unshown = /^(?:MPF\0|http:\/\/ns\.adobe\.com\/xmp\/extension\/)/v;

/** @returns where the picture ends; null when it does not. */
function jpegBlocks(reader: Reader, target: Target): number | null {
  let { hasLocation: erases } = target;
  for (const { marker, start, length } of jpegSegments(reader)) {
    const name = reader.at(start, 40).toString('latin1');
    if (marker === endMarker) {
      return start;
    }

    if (start + length > target.size) {
      return null;
    }

    erases ||= marker === scanMarker;
    if (erases && marker === exifMarker && name.startsWith(exifName)) {
      writeExif(target, start + exifName.length, length - exifName.length);
    } else if (
      (erases && (marker === exifMarker || marker === photoshopMarker)) ||
      ((marker === exifMarker || marker === othersMarker) && unshown.test(name))
    ) {
      fill(target.file, start, length);
    }
  }

  return null;
}

const texts = new Set(['tEXt', 'zTXt', 'iTXt']);

/** The name of an ancillary chunk that no program reads. */
const unknownChunk = Buffer.from('voId');

/** @returns where the picture ends; null when it does not. */
function pngBlocks(reader: Reader, target: Target): number | null {
  let { hasLocation: erases } = target;
  for (const { name, start, length } of pngChunks(reader)) {
    const end = start + length + 4;
    if (name === 'IEND') {
      return end;
    }

    if (end > target.size) {
      return null;
    }

    erases ||= name === 'IDAT';
    const crc = Buffer.alloc(4);
    if (erases && name === 'eXIf') {
      writeExif(target, start, length);
      crc.writeUInt32BE(checksumOf('eXIf', exifOf(target.orientation, length), length));
      writeSync(target.file, crc, 0, 4, end - 4);
    } else if (erases && texts.has(name)) {
      writeSync(target.file, unknownChunk, 0, 4, start - 4);
      fill(target.file, start, length);
      crc.writeUInt32BE(checksumOf('voId', Buffer.alloc(0), length));
      writeSync(target.file, crc, 0, 4, end - 4);
    }
  }

  return null;
}

/** The checksum of a chunk: its name, these bytes, and zeros up to the length. */
function checksumOf(name: string, bytes: Buffer, length: number): number {
  let sum = crc32(bytes, crc32(name));
  for (let left = length - bytes.length; left > 0; left -= zeros.length) {
    sum = crc32(zeros.subarray(0, left), sum);
  }

  return sum;
}

/** @returns where the picture ends. */
function webpBlocks(reader: Reader, target: Target): number {
  const end = 8 + Buffer.from(reader.at(4, 4)).readUInt32LE(0);
  for (let position = 12; position + 8 <= Math.min(end, target.size);) {
    const head = Buffer.from(reader.at(position, 8));
    const [name, length] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)];
    if (position + 8 + length > target.size) {
      break;
    }

    if (target.hasLocation && name === 'EXIF') {
      writeExif(target, position + 8, length);
    } else if (target.hasLocation && name === 'XMP ') {
      fill(target.file, position + 8, length);
    }

    position += 8 + length + (length % 2);
  }

  return end;
}

/** Of a GIF, what decoders need: frames, their timing, texts drawn into them, loops and the colour profile. */
const [frameBlock, extensionBlock, endBlock] = [0x2c, 0x21, 0x3b];
const [timingLabel, textLabel, programLabel] = [0xf9, 0x01, 0xff];
const neededPrograms = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

/**
 * Overwrites comments, XMP and the data of other programs.
 *
 * @returns where the picture ends; null when it does not.
 */
function gifBlocks(reader: Reader, { file, size }: Target): number | null {
  const byteAt = (position: number): number => reader.at(position, 1)[0] ?? 0;
  const tableLength = (flags: number): number => (flags < 0x80 ? 0 : 3 * 2 ** ((flags % 8) + 1));
  for (let position = 13 + tableLength(byteAt(10)); position < size;) {
    const kind = byteAt(position);
    const label = byteAt(position + 1);
    const isNeeded =
      kind === frameBlock ||
      label === timingLabel ||
      label === textLabel ||
      (label === programLabel &&
        neededPrograms.has(reader.at(position + 3, 11).toString('latin1')));
    if (kind === frameBlock) {
      position += 11 + tableLength(byteAt(position + 9));
    } else if (kind === extensionBlock) {
      position += 2;
    } else {
      return kind === endBlock ? position + 1 : null;
    }

    for (let length = byteAt(position); length > 0; length = byteAt(position)) {
      if (!isNeeded) {
        fill(file, position + 1, Math.min(length, size - position - 1));
      }

      position += 1 + length;
    }

    position += 1;
  }

  return null;
}

function writeExif({ file, orientation }: Target, start: number, length: number): void {
  fill(file, start, length);
  const exif = exifOf(orientation, length);
  writeSync(file, exif, 0, exif.length, start);
}

/** An Exif directory with only the orientation; empty when the space is too small for it, and thus for a location. */
function exifOf(orientation: number, room: number): Buffer {
  const exif = Buffer.from('49492a0008000000010012010300010000000000000000000000', 'hex');
  exif.writeUInt16LE(orientation, 18);
  return exif.length <= room ? exif : Buffer.alloc(0);
}

const zeros = Buffer.alloc(64 * 1024);

function fill(file: number, start: number, length: number): void {
  for (let written = 0; written < length; written += zeros.length) {
    writeSync(file, zeros, 0, Math.min(zeros.length, length - written), start + written);
  }
}
