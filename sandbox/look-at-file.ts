import { BufferSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import sharp from 'sharp';

/** What networks limit in a file, read from its bytes. What cannot be read is null, and no network minds it. */
export type FileLook = {
  readonly width: number | null;
  readonly height: number | null;
  readonly frames: number | null;
  readonly seconds: number | null;
  readonly framesPerSecond: number | null;
  /** As RFC 6381 names them: `avc1.64001f`, `mp4a.40.2`. */
  readonly videoCodec: string | null;
  readonly audioCodec: string | null;
  readonly audioChannels: number | null;
  readonly hasSquarePixels: boolean;
};

const nothing: FileLook = {
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

export async function lookAtFile(bytes: Buffer, type: string): Promise<FileLook> {
  try {
    return type.startsWith('image/') ? await lookAtImage(bytes) : await lookAtVideo(bytes);
  } catch {
    return nothing;
  }
}

async function lookAtImage(bytes: Buffer): Promise<FileLook> {
  const { width, height, pages: frames = 1 } = await sharp(bytes).metadata();
  return { ...nothing, width, height, frames };
}

async function lookAtVideo(bytes: Buffer): Promise<FileLook> {
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
