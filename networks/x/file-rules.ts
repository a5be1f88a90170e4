import type { AttachmentFacts } from '../content-rules.ts';
import { isVideo, nameOf } from '../validation/files.ts';

// Source: https://docs.x.com/x-api/media/quickstart/best-practices,
// https://docs.x.com/x-api/fundamentals/data-dictionary

export const maxFrameRate = 60;

/**
 * The longer side and the shorter one, in pixels. X's guide says 1280 × 1024, but X accepts 1080p from some accounts.
 */
const largestVideo = [1920, 1200] as const;

/** High Efficiency MPEG-4 audio, version 1 and version 2. */
const highEfficiency = new Set(['mp4a.40.5', 'mp4a.40.29']);

/** Tolerance, because encoders round the pixel aspect ratio when they scale a video. */
const squareWithin = 0.01;

/** Properties for which X refuses a video, according to its guide. */
export function fileErrors(file: AttachmentFacts): string[] {
  const name = nameOf(file);
  const {
    chroma,
    pixelAspect = 1,
    audioCodec,
    audioProfile,
    audioChannels = 0,
  } = videoDetails(file);
  const isOtherSound =
    (audioCodec !== undefined && audioCodec !== 'aac') || highEfficiency.has(audioProfile ?? '');
  return [
    ...(chroma !== undefined && chroma !== '4:2:0'
      ? [`X takes videos in YUV 4:2:0 only, and ${name} is in ${chroma}. Encode it as yuv420p.`]
      : []),
    ...(Math.abs(pixelAspect - 1) > squareWithin
      ? [
          `X takes videos with square pixels only, and a pixel of ${name} is ${rounded(pixelAspect)} times as wide as high.`,
        ]
      : []),
    ...(isOtherSound
      ? [`X takes videos with sound in AAC-LC only, and that of ${name} is ${soundOf(file)}.`]
      : []),
    ...(audioChannels > 2
      ? [
          `X takes videos with sound in mono or stereo only, and ${name} has ${audioChannels} channels.`,
        ]
      : []),
  ];
}

/** Properties that X's guide advises against or does not mention. */
export function fileWarnings(file: AttachmentFacts): string[] {
  if (!isVideo(file)) {
    return [];
  }

  const { width, height, altText } = file;
  const name = nameOf(file);
  const [longer, shorter] = [Math.max(width ?? 0, height ?? 0), Math.min(width ?? 0, height ?? 0)];
  const { frameRate = 0, bitDepth = 8, videoCodec = 'avc' } = videoDetails(file);
  return [
    ...(longer > largestVideo[0] || shorter > largestVideo[1]
      ? [
          `X may refuse ${name}: it is made for videos of up to ${largestVideo.join(' × ')} pixels, and this has ${width} × ${height}.`,
        ]
      : []),
    ...(frameRate > maxFrameRate && Math.floor(frameRate) === maxFrameRate
      ? [
          `X may refuse ${name}: a video may have up to ${maxFrameRate} frames per second, and this has ${rounded(frameRate)}.`,
        ]
      : []),
    ...(bitDepth > 8
      ? [`X may refuse ${name}: it is made for videos of 8 bits, and this has ${bitDepth}.`]
      : []),
    ...(videoCodec === 'avc'
      ? []
      : [`X may refuse ${name}: it is made for videos in H.264, and this is in ${videoCodec}.`]),
    ...(altText ? [`X shows no alt text of videos: that of ${name} is left out.`] : []),
  ];
}

const videoDetails = (file: AttachmentFacts) => (isVideo(file) ? (file.details ?? {}) : {});

const soundOf = ({ details }: AttachmentFacts): string =>
  highEfficiency.has(details?.audioProfile ?? '') ? 'HE-AAC' : (details?.audioCodec ?? '');

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
