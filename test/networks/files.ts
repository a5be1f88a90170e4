import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Output,
  WebMOutputFormat,
} from 'mediabunny';
import sharp from 'sharp';
import type { PartMedia } from '../../networks/network.ts';
import { video } from '../support/media-files.ts';

/** A file of a post as the ledger provides it, with its bytes. */
export type TestPartMedia = PartMedia & { readonly bytes: Buffer };

/** A file of a post with these bytes. `facts` replace its defaults. */
export const fileOf = (bytes: Buffer, facts: Partial<PartMedia>): TestPartMedia => ({
  id: crypto.randomUUID(),
  name: 'file',
  type: 'image/png',
  sizeBytes: bytes.length,
  width: null,
  height: null,
  durationMs: null,
  altText: null,
  open: async (from = 0) =>
    Readable.from([bytes.subarray(from, from + 100), bytes.subarray(from + 100)]),
  ...facts,
  bytes,
});

/** A unique image: PNG, so that its pixels are preserved. */
export async function pictureFile(name = 'picture.png', width = 30, height = 20) {
  const pixels = randomBytes(width * height * 3);
  const bytes = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return fileOf(bytes, { name, width, height });
}

export async function videoFile(name = 'clip.mp4') {
  const facts = { name, type: 'video/mp4', width: 320, height: 180, durationMs: 2000 };
  return fileOf(await video('mp4'), facts);
}

/**
 * A playable video of one second. A lossy WebP is a VP8 picture in another container, so a video of such pictures needs
 * no encoder.
 */
export async function playableVideo(name = 'clip.webm', width = 64, height = 48) {
  const webp = await sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .webp({ lossless: false })
    .toBuffer();
  const frame = webp.subarray(webp.indexOf('VP8 ') + 8);
  const target = new BufferTarget();
  const output = new Output({ format: new WebMOutputFormat(), target });
  const source = new EncodedVideoPacketSource('vp8');
  output.addVideoTrack(source, { frameRate: 10 });
  await output.start();
  const decoderConfig = { codec: 'vp8', codedWidth: width, codedHeight: height };
  for (let count = 0; count < 10; count += 1) {
    const packet = new EncodedPacket(frame, 'key', count / 10, 0.1);
    await source.add(packet, count === 0 ? { decoderConfig } : undefined);
  }
  await output.finalize();
  const facts = { name, type: 'video/webm', width, height, durationMs: 1000 };
  return fileOf(Buffer.from(target.buffer ?? new ArrayBuffer(0)), facts);
}

/** The pixels of an image, for comparison with a server's version. */
export const pixelsOf = (bytes: Buffer): Promise<Buffer> =>
  sharp(bytes).removeAlpha().raw().toBuffer();
