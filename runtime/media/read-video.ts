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
  const unreadable = {
    refusal: 'The file begins like a video but cannot be read as one.',
  };
  try {
    const input = new Input({
      source: new FilePathSource(filePath),
      formats: [MP4, QTFF, WEBM],
    });
    const track = await input.getPrimaryVideoTrack();
    if (!track) {
      return {
        refusal: 'The file begins like a video but has no video track.',
      };
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
    const codec = (await picture.getCodecParameterString()) ?? '';
    Object.assign(details, pixelFormats.find(([profile]) => profile.test(codec))?.[1]);
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

type PixelFormat = Pick<MediaDetails, 'chroma' | 'bitDepth'>;

/** By the profile in a video's codec string, which has its number in hex for H.264. Others are unknown. */
const pixelFormats: readonly (readonly [codec: RegExp, PixelFormat])[] = [
  [/^avc[13]\.(?:42|4d|58|64)/iv, { chroma: '4:2:0', bitDepth: 8 }],
  [/^avc[13]\.6e/iv, { chroma: '4:2:0', bitDepth: 10 }],
  [/^avc[13]\.7a/iv, { chroma: '4:2:2' }],
  [/^avc[13]\.f4/iv, { chroma: '4:4:4' }],
  [/^(?:hvc|hev)1\.1\./v, { chroma: '4:2:0', bitDepth: 8 }],
  [/^(?:hvc|hev)1\.2\./v, { chroma: '4:2:0', bitDepth: 10 }],
];
