import { inspectFile, type FileProperties } from '../inspect-file.ts';

/**
 * Returns why X refuses a file, or null.
 *
 * Source: https://docs.x.com/x-api/media/quickstart/best-practices
 */
export async function refuseFile(bytes: Buffer, type: string): Promise<string | null> {
  const properties = await inspectFile(bytes, type);
  if (type === 'image/gif') {
    return refuseGif(properties);
  }
  return type.startsWith('image/') ? refusePicture(properties) : refuseVideo(properties);
}

function refusePicture({ width, height }: FileProperties): string | null {
  const sides = [width ?? 4, height ?? 4];
  return sides.every((side) => side >= 4 && side <= 8192)
    ? null
    : 'Image dimensions must be >= 4x4 and <= 8192x8192';
}

function refuseGif({ width, height, frames }: FileProperties): string | null {
  const sides = [width ?? 1, height ?? 1];
  const pixels = sides.reduce((product, side) => product * side, frames ?? 1);
  return Math.max(...sides) <= 1280 &&
    Math.min(...sides) <= 1080 &&
    (frames ?? 1) <= 350 &&
    pixels <= 300_000_000
    ? null
    : 'Gif must be <= 1280x1080, <= 350 frames and <= 300 million pixels';
}

/** H.264 profiles with other chroma than 4:2:0: High 4:2:2 and High 4:4:4. */
const otherChroma = /^avc[13]\.(?:7a|f4)/iv;

function refuseVideo(properties: FileProperties): string | null {
  const { seconds, framesPerSecond, videoCodec, audioCodec, audioChannels } = properties;
  const faults = [
    (seconds ?? 1) < 0.49 || (seconds ?? 1) > 1201 ? 'Duration' : null,
    (framesPerSecond ?? 1) >= 61 ? 'Frame rate' : null,
    otherChroma.test(videoCodec ?? '') ? 'Pixel format' : null,
    properties.hasSquarePixels ? null : 'Pixel aspect ratio',
    audioCodec !== null && !['mp4a.40.2', 'mp4a.67'].includes(audioCodec) ? 'Audio codec' : null,
    (audioChannels ?? 1) > 2 ? 'Audio channels' : null,
  ].filter((fault) => fault !== null);
  return faults.length > 0 ? `Unsupported: ${faults.join(', ')}` : null;
}
