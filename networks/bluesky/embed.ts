import { NetworkError, type Json, type PartMedia } from '../network.ts';
import type { Blob } from './answers.ts';

/**
 * The part of a record that shows its files: images, or one video.
 *
 * A video is named as its bytes are, and Bluesky's video service prepares it when it sees the post.
 *
 * Source: lexicons `app.bsky.embed.images` and `app.bsky.embed.video`.
 *
 * @param blobs One for each file.
 * @returns null when there are no files.
 * @throws NetworkError `media_refused` for a mixture that no record can show.
 */
export function embedOf(media: readonly PartMedia[], blobs: readonly Blob[]): Json {
  const images: Json[] = [];
  const videos: Json[] = [];
  for (const [index, file] of media.entries()) {
    const blob = { ...blobs[index] };
    if (file.type.startsWith('video/')) {
      videos.push({ $type: 'app.bsky.embed.video', video: blob, ...shapeOf(file) });
    } else {
      images.push({ image: blob, alt: '', ...shapeOf(file) });
    }
  }

  const [video = null] = videos;
  if (videos.length > 1 || (videos.length > 0 && images.length > 0)) {
    const message = `A Bluesky post shows images or one video, and this one has ${images.length} images and ${videos.length} videos.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }
  return images.length > 0 ? { $type: 'app.bsky.embed.images', images } : video;
}

/** Without it, clients do not know how much room to leave until they have the file. */
const shapeOf = ({ width, height }: PartMedia): { aspectRatio?: Json } =>
  width !== null && height !== null ? { aspectRatio: { width, height } } : {};
