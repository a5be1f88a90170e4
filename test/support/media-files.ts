import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny';
import sharp from 'sharp';

export type Size = { readonly width: number; readonly height: number };

const plain = ({ width, height }: Size) => ({
  create: { width, height, channels: 3 as const, background: 'teal' },
});

/** A small image of one colour. */
export const picture = (
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif' = 'png',
  size: Size = { width: 30, height: 20 },
): Promise<Buffer> => sharp(plain(size)).toFormat(format).toBuffer();

/** A JPEG whose orientation says to turn it by 90 degrees. */
export const turnedPicture = (size: Size): Promise<Buffer> =>
  sharp(plain(size)).jpeg().withMetadata({ orientation: 6 }).toBuffer();

/** Two frames with these durations in milliseconds. */
export const animation = (format: 'gif' | 'webp', delay: [number, number]): Promise<Buffer> => {
  const first = sharp({ ...plain({ width: 30, height: 20 }) }).png();
  const second = sharp({
    create: { ...plain({ width: 30, height: 20 }).create, background: 'red' },
  });
  return Promise.all([first.toBuffer(), second.png().toBuffer()]).then((frames) =>
    sharp(frames, { join: { animated: true } })
      .toFormat(format, { delay })
      .toBuffer(),
  );
};

const formats = {
  mp4: { make: () => new Mp4OutputFormat(), codec: 'avc' },
  mov: { make: () => new MovOutputFormat(), codec: 'avc' },
  webm: { make: () => new WebMOutputFormat(), codec: 'vp9' },
} as const;

/** The parameter sets that an MP4 must carry for H.264. */
const avcDescription = Buffer.from(
  '0142001fffe1000467 42001f01000268ce'.replaceAll(' ', ''),
  'hex',
);

/** The same for a profile with more than 4:2:0 or 8 bits. */
const avcFormat = ({ profile, chroma, bitDepth }: Required<VideoOptions>['pixels']): Buffer =>
  Buffer.concat([
    Buffer.from([1, profile]),
    avcDescription.subarray(2),
    Buffer.from([0xfc | chroma, 0xf8 | (bitDepth - 8), 0xf8 | (bitDepth - 8), 0]),
  ]);

type VideoOptions = {
  readonly rotation?: 0 | 90;
  readonly frameRate?: number;
  /** Of H.264. */
  readonly pixels?: {
    readonly profile: number;
    readonly chroma: number;
    readonly bitDepth: number;
  };
  /** The width of a pixel divided by its height. */
  readonly pixelAspect?: number;
  readonly sound?: 'aac' | 'he-aac' | 'aac-5.1' | 'mp3';
};

/** A video of 320 × 180 pixels and 2 s with the tables that a player reads; its frames are noise. */
export async function video(
  format: keyof typeof formats = 'mp4',
  { rotation = 0, frameRate = 10, pixels, pixelAspect = 1, sound }: VideoOptions = {},
): Promise<Buffer> {
  const { make, codec } = formats[format];
  const target = new BufferTarget();
  const output = new Output({ format: make(), target });
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source, { frameRate, rotation });
  const hear = sound && addSound(output, sound);
  await output.start();
  const description = pixels ? avcFormat(pixels) : avcDescription;
  const decoderConfig = {
    codec: codec === 'avc' ? 'avc1.42001f' : 'vp09.00.10.08',
    codedWidth: 320,
    codedHeight: 180,
    displayAspectWidth: 320 * pixelAspect,
    displayAspectHeight: 180,
    ...(codec === 'avc' ? { description } : {}),
  };
  for (let count = 0; count < 2 * frameRate; count += 1) {
    const kind = count === 0 ? 'key' : 'delta';
    const [at, length] = [count / frameRate, 1 / frameRate];
    const packet = new EncodedPacket(new Uint8Array(20).fill(count), kind, at, length);
    await source.add(packet, count === 0 ? { decoderConfig } : undefined);
  }
  await hear?.();
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** ISO/IEC 14496-3, 1.6.2.1: profile, sample rate and channels. */
const sounds = {
  aac: { codec: 'mp4a.40.2', numberOfChannels: 2, description: Buffer.from('1210', 'hex') },
  'he-aac': { codec: 'mp4a.40.5', numberOfChannels: 2, description: Buffer.from('2a1188', 'hex') },
  'aac-5.1': { codec: 'mp4a.40.2', numberOfChannels: 6, description: Buffer.from('1230', 'hex') },
  mp3: { codec: 'mp3', numberOfChannels: 2 },
} as const;

function addSound(output: Output, sound: keyof typeof sounds): () => Promise<void> {
  const decoderConfig = { ...sounds[sound], sampleRate: 44_100 };
  const source = new EncodedAudioPacketSource(sound === 'mp3' ? 'mp3' : 'aac');
  output.addAudioTrack(source);
  return () => source.add(new EncodedPacket(new Uint8Array(100), 'key', 0, 2), { decoderConfig });
}

/** An MP4 with sound and without video. */
export async function soundOnly(): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const hear = addSound(output, 'mp3');
  await output.start();
  await hear();
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** A WebP of this many equal frames of one pixel, about fifty bytes each. */
export async function longWebp(frames: number): Promise<Buffer> {
  const still = await picture('webp', { width: 1, height: 1 });
  const [flags, loop, place] = [Buffer.alloc(10), Buffer.alloc(6), Buffer.alloc(16)];
  flags.writeUInt8(0b10, 0); // The animation flag.
  place.writeUIntLE(10, 12, 3); // The frame's duration in milliseconds.
  const frame = riffChunk('ANMF', [place, still.subarray(12)]);
  const all = Array.from({ length: frames }, () => frame);
  return riffChunk('RIFF', [
    Buffer.from('WEBP'),
    riffChunk('VP8X', [flags]),
    riffChunk('ANIM', [loop]),
    ...all,
  ]);
}

function riffChunk(name: string, parts: readonly Uint8Array[]): Buffer {
  const data = Buffer.concat(parts);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(data.length);
  return Buffer.concat([Buffer.from(name), size, data, Buffer.alloc(data.length % 2)]);
}

/** A GIF of this many equal frames of one pixel. */
export function longGif(frames: number): Buffer {
  const beginning = '474946383961 0100 0100 80 00 00 000000 ffffff';
  const frame = '21f9 04 00 0a00 00 00 2c 0000 0000 0100 0100 00 02 02 4401 00';
  const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
  const all = Array.from({ length: frames }, () => bytes(frame));
  return Buffer.concat([bytes(beginning), ...all, bytes('3b')]);
}
