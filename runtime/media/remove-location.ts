import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Metadata } from 'sharp';

/** The Exif tag that points to the GPS data, a 32-bit number, in both byte orders. */
const gpsTags = [Buffer.from('2588040001000000', 'hex'), Buffer.from('8825000400000001', 'hex')];

/** Whether the metadata may contain the location. */
export const hasLocation = ({ exif, xmp, comments = [] }: Metadata): boolean =>
  gpsTags.some((tag) => exif?.includes(tag)) ||
  /gps|latitude/iv.test(xmp?.toString('latin1') ?? '') ||
  // ImageMagick stores a JPEG's metadata like this in a PNG, compressed.
  comments.some(({ keyword }) => /^raw profile type (?:exif|app1|xmp)$/iv.test(keyword));

/**
 * Overwrites a picture's metadata in place: Exif keeps only the orientation, XMP and texts become zeros. Pixels and
 * colour profile stay, and no other byte moves. Cuts off any data after the picture, such as a second picture with
 * metadata.
 */
export function removeMetadata(filePath: string, { format, orientation = 1 }: Metadata): void {
  const file = openSync(filePath, 'r+');
  try {
    const blocksOf = { jpeg: jpegBlocks, png: pngBlocks, webp: webpBlocks }[String(format)];
    const { size } = fstatSync(file);
    const end = blocksOf?.(createReader(file), { file, size, orientation }) ?? size;
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
};

const [exifMarker, othersMarker, photoshopMarker, endMarker] = [0xe1, 0xe2, 0xed, 0xd9];
const exifName = 'Exif\0\0';

/** @returns where the picture ends; null when it does not. */
function jpegBlocks(reader: Reader, target: Target): number | null {
  for (const { marker, start, length } of jpegSegments(reader)) {
    const name = reader.at(start, 12).toString('latin1');
    if (marker === endMarker) {
      return start;
    }

    if (start + length > target.size) {
      return null;
    }

    if (marker === exifMarker && name.startsWith(exifName)) {
      writeExif(target, start + exifName.length, length - exifName.length);
    } else if (
      marker === exifMarker ||
      marker === photoshopMarker ||
      // The index of further pictures in the file.
      (marker === othersMarker && name.startsWith('MPF\0'))
    ) {
      fill(target.file, start, length);
    }
  }

  return null;
}

type Segment = { readonly marker: number; readonly start: number; readonly length: number };

/** Yields the segments and the end. Like libjpeg, skips any bytes before the next marker. */
function* jpegSegments(reader: Reader): Generator<Segment> {
  for (let position = 2; ;) {
    const piece = reader.at(position, 64 * 1024);
    const found = piece.indexOf(0xff);
    if (piece.length === 0) {
      return;
    }

    position += found === -1 ? piece.length : found + 1;
    const [marker = 0] = found === -1 ? [] : reader.at(position, 1);
    const isFilling = marker === 0xff; // Read again as the first byte of a marker.
    position += found === -1 || isFilling ? 0 : 1;
    if (marker === endMarker) {
      yield { marker, start: position, length: 0 };
      return;
    }

    const isAlone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    if (!isFilling && !isAlone) {
      const [high = 0, low = 2] = reader.at(position, 2);
      const length = Math.max(2, high * 256 + low);
      yield { marker, start: position + 2, length: length - 2 };
      position += length;
    }
  }
}

const texts = new Set(['tEXt', 'zTXt', 'iTXt']);

/** The name of an ancillary chunk that no program reads. */
const unknownChunk = Buffer.from('voId');

/** @returns where the picture ends; null when it does not. */
function pngBlocks(reader: Reader, target: Target): number | null {
  for (let position = 8; ;) {
    const head = Buffer.from(reader.at(position, 8));
    if (head.length < 8) {
      return null;
    }

    const [length, name] = [head.readUInt32BE(0), head.toString('latin1', 4)];
    const end = position + 12 + length;
    if (name === 'IEND') {
      return end;
    }

    if (end > target.size) {
      return null;
    }

    const crc = Buffer.alloc(4);
    if (name === 'eXIf') {
      writeExif(target, position + 8, length);
      crc.writeUInt32BE(checksumOf('eXIf', exifOf(target.orientation, length), length));
      writeSync(target.file, crc, 0, 4, end - 4);
    } else if (texts.has(name)) {
      writeSync(target.file, unknownChunk, 0, 4, position + 4);
      fill(target.file, position + 8, length);
      crc.writeUInt32BE(checksumOf('voId', Buffer.alloc(0), length));
      writeSync(target.file, crc, 0, 4, end - 4);
    }

    position = end;
  }
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

    if (name === 'EXIF') {
      writeExif(target, position + 8, length);
    } else if (name === 'XMP ') {
      fill(target.file, position + 8, length);
    }

    position += 8 + length + (length % 2);
  }

  return end;
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

type Reader = {
  /** Returns `length` bytes, or fewer at the end of the file. */
  at(position: number, length: number): Buffer;
};

/** Reads large pieces, as most requests are for a few bytes. */
function createReader(file: number): Reader {
  const piece = Buffer.alloc(256 * 1024);
  let [start, filled] = [0, 0];
  return {
    at(position, length) {
      if (position < start || position + length > start + filled) {
        start = position;
        filled = readSync(file, piece, 0, piece.length, position);
      }

      return piece.subarray(position - start, Math.min(position - start + length, filled));
    },
  };
}
