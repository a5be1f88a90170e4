import { crc32, deflateSync } from 'node:zlib';

// Small files that claim to be large, built byte by byte: a library would create the large content.

/** A WebP with this many frames of one pixel, about 40 bytes each. */
export function animatedWebp(frames: number): Buffer {
  const pixel = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64').subarray(
    12,
  );
  const head = Buffer.alloc(16);
  const frame = riffChunk('ANMF', Buffer.concat([head, pixel]));
  const extended = riffChunk('VP8X', Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
  const animation = riffChunk('ANIM', Buffer.alloc(6));
  const content = Buffer.concat([
    Buffer.from('WEBP'),
    extended,
    animation,
    ...Array<Buffer>(frames).fill(frame),
  ]);
  return riffChunk('RIFF', content);
}

function riffChunk(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

/** A GIF with this many frames of one pixel. */
export function longGif(frames: number): Buffer {
  const head = Buffer.from(
    'GIF89a\u0001\u0000\u0001\u0000\u0080\u0000\u0000\u0000\u0000\u0000\u00ff\u00ff\u00ff',
    'latin1',
  );
  const frame = Buffer.from([
    0x21, 0xf9, 4, 0, 1, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0,
  ]);
  return Buffer.concat([head, ...Array<Buffer>(frames).fill(frame), Buffer.from([0x3b])]);
}

/** A PNG whose header claims this many pixels on each side, with 1,000 compressed rows. */
export function giantPng(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([1, 0, 0, 0, 0], 8); // One bit of grey per pixel.
  const rows = deflateSync(Buffer.alloc((Math.ceil(side / 8) + 1) * 1000));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
