import { BufferSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import sharp from 'sharp';

/** The properties of a file that networks limit. Unreadable properties are null and not checked. */
export type FileProperties = {
  readonly width: number | null;
  readonly height: number | null;
  readonly frames: number | null;
  readonly seconds: number | null;
  readonly framesPerSecond: number | null;
  /** Names of RFC 6381: `avc1.64001f`, `mp4a.40.2`. */
  readonly videoCodec: string | null;
  readonly audioCodec: string | null;
  readonly audioChannels: number | null;
  readonly hasSquarePixels: boolean;
};

const nothing: FileProperties = {
  width: null,
  height: null,
  frames: null,
  seconds: null,
  framesPerSecond: null,
  videoCodec: null,
  audioCodec: null,
  audioChannels: null,
  hasSquarePixels: true,
};

export async function inspectFile(bytes: Buffer, type: string): Promise<FileProperties> {
  try {
    return type.startsWith('image/') ? await inspectImage(bytes) : await inspectVideo(bytes);
  } catch {
    return nothing;
  }
}

async function inspectImage(bytes: Buffer): Promise<FileProperties> {
  const { width, height, pages: frames = 1 } = await sharp(bytes).metadata();
  return { ...nothing, width, height, frames };
}

async function inspectVideo(bytes: Buffer): Promise<FileProperties> {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF, WEBM] });
  const picture = await input.getPrimaryVideoTrack();
  if (!picture) {
    return nothing;
  }
  const sound = await input.getPrimaryAudioTrack();
  const { averageFrameRate } = await picture.computeFrameRateMetrics();
  const { num, den } = await picture.getPixelAspectRatio();
  return {
    width: await picture.getDisplayWidth(),
    height: await picture.getDisplayHeight(),
    frames: null,
    seconds: await input.computeDuration(),
    framesPerSecond: averageFrameRate,
    videoCodec: await picture.getCodecParameterString(),
    audioCodec: sound && (await sound.getCodecParameterString()),
    audioChannels: sound && (await sound.getNumberOfChannels()),
    hasSquarePixels: Math.abs(num / den - 1) < 0.02,
  };
}
