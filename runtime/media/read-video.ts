import {
  FilePathSource,
  Input,
  MP4,
  QTFF,
  WEBM,
  type InputAudioTrack,
  type InputVideoTrack,
} from 'mediabunny';
import type { MediaDetails } from '../../domain/media.ts';
import type { FileRefusal, PictureFacts } from './inspector.ts';

/** Reads a video's tables. Decodes nothing. */
export async function readVideo(filePath: string): Promise<PictureFacts | FileRefusal> {
  const unreadable = { refusal: 'The file begins like a video but cannot be read as one.' };
  try {
    const input = new Input({
      source: new FilePathSource(filePath),
      formats: [MP4, QTFF, WEBM],
    });
    const track = await input.getPrimaryVideoTrack();
    if (!track) {
      return { refusal: 'The file begins like a video but has no video track.' };
    }

    const facts = {
      width: Math.round(await track.getDisplayWidth()),
      height: Math.round(await track.getDisplayHeight()),
      durationMs: Math.round((await input.computeDuration()) * 1000),
    };
    if (!isPlausible(facts)) {
      return unreadable;
    }

    const sound = await input.getPrimaryAudioTrack().catch(() => null);
    return { ...facts, details: await videoDetails(track, sound) };
  } catch {
    return unreadable;
  }
}

/** Larger values are implausible and do not fit into the database's columns. */
const isPlausible = ({ width, height, durationMs }: Omit<PictureFacts, 'details'>): boolean =>
  isFrom1To(65_535, width) && isFrom1To(65_535, height) && isFrom1To(2 ** 31 - 1, durationMs ?? 1);

const isFrom1To = (most: number, value: number | null): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;

type Written<T> = { -readonly [Field in keyof T]: T[Field] };

/** Reads the properties that networks limit. Omits unreadable ones, as the file may still play. */
async function videoDetails(
  picture: InputVideoTrack,
  sound: InputAudioTrack | null,
): Promise<MediaDetails> {
  const details: Written<MediaDetails> = {};
  await ignoreErrors(async () => {
    const { bestGuessFrameRate, probedPacketCount } = await picture.computeFrameRateMetrics();
    if (probedPacketCount > 1 && Number.isFinite(bestGuessFrameRate)) {
      details.frameRate = bestGuessFrameRate;
    }
  });
  await ignoreErrors(async () => {
    const { num, den } = await picture.getPixelAspectRatio();
    details.pixelAspect = num / den;
  });
  await ignoreErrors(async () => {
    details.videoCodec = (await picture.getCodec()) ?? (await codecNameOf(picture));
    Object.assign(details, pixelFormat(await picture.getDecoderConfig()));
  });
  await ignoreErrors(async () => {
    if (sound) {
      details.audioCodec = (await sound.getCodec()) ?? (await codecNameOf(sound));
      details.audioProfile = (await sound.getCodecParameterString()) ?? '';
      details.audioChannels = await sound.getNumberOfChannels();
    }
  });
  return details;
}

async function ignoreErrors(read: () => Promise<void>): Promise<void> {
  await read().catch(() => undefined);
}

/** The container's name of a codec that the library does not know, such as `mp4v`. */
async function codecNameOf(track: InputAudioTrack | InputVideoTrack): Promise<string> {
  const id = await track.getInternalCodecId();
  return typeof id === 'string' && /^[\w .\-\/]{1,40}$/v.test(id) ? id.trim() : 'unknown';
}

const chromas = ['4:0:0', '4:2:0', '4:2:2', '4:4:4'];

type PixelFormat = Pick<MediaDetails, 'chroma' | 'bitDepth'>;

/** Chroma and bits per sample, from the decoder's configuration in the container. */
function pixelFormat(config: VideoDecoderConfig | null): PixelFormat {
  const { codec = '', description } = config ?? {};
  const bytes = bytesOf(description);
  if (/^avc[13]\./v.test(codec)) {
    return bytes ? avcFormat(bytes) : {};
  }

  if (/^(?:hvc|hev)1\./v.test(codec)) {
    return bytes && bytes.length > 17
      ? formatOf((bytes[16] ?? 0) & 0b11, ((bytes[17] ?? 0) & 0b111) + 8)
      : {};
  }

  return {};
}

function bytesOf(description: VideoDecoderConfig['description']): Uint8Array | null {
  if (!description) {
    return null;
  }

  return ArrayBuffer.isView(description)
    ? new Uint8Array(description.buffer, description.byteOffset, description.byteLength)
    : new Uint8Array(description);
}

/** Profiles with 8-bit 4:2:0 only: Baseline, Main and Extended. */
const simpleProfiles = new Set([66, 77, 88]);

/** ISO/IEC 14496-15, 5.3.3.1: other profiles have four bytes after the parameter sets. */
function avcFormat(bytes: Uint8Array): PixelFormat {
  if (simpleProfiles.has(bytes[1] ?? 0)) {
    return formatOf(1, 8);
  }

  let position = 5;
  for (const mask of [0b1_1111, 0xff]) {
    const count = (bytes[position] ?? 0) & mask;
    position += 1;
    for (let index = 0; index < count; index += 1) {
      position += 2 + (bytes[position] ?? 0) * 256 + (bytes[position + 1] ?? 0);
    }
  }

  return position + 2 < bytes.length
    ? formatOf((bytes[position] ?? 0) & 0b11, ((bytes[position + 1] ?? 0) & 0b111) + 8)
    : {};
}

const formatOf = (chroma: number, bitDepth: number): PixelFormat => ({
  chroma: chromas[chroma] ?? '4:2:0',
  bitDepth,
});
