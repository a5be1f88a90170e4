import type { Json } from '../../../domain/json-schema.ts';
import { NetworkError, type PartMedia } from '../../network.ts';
import type { Blob } from '../prepared-post.ts';

/** A file as it appears in a record. */
export type ShownFile = {
  readonly file: Pick<PartMedia, 'type' | 'altText'>;
  readonly blob: Blob;
  /** In pixels; null when unknown. */
  readonly width: number | null;
  readonly height: number | null;
};

/**
 * The embed of a record for its files: images, or one video.
 *
 * Source: lexicons `app.bsky.embed.images` and `app.bsky.embed.video`.
 *
 * @returns null when there are no files.
 * @throws NetworkError `media_refused` for a mixture that a record cannot contain.
 */
export function embedOf(files: readonly ShownFile[]): Json {
  const images: Json[] = [];
  const videos: Json[] = [];
  for (const shown of files) {
    const { file } = shown;
    const blob = { ...shown.blob };
    const alt = file.altText?.trim() ?? '';
    if (file.type.startsWith('video/')) {
      const text = alt === '' ? {} : { alt };
      videos.push({ $type: 'app.bsky.embed.video', video: blob, ...text, ...shapeOf(shown) });
    } else {
      images.push({ image: blob, alt, ...shapeOf(shown) });
    }
  }

  const [video = null] = videos;
  if (videos.length > 1 || (videos.length > 0 && images.length > 0)) {
    const message = `A Bluesky post shows images or one video, and this one has ${images.length} images and ${videos.length} videos.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }
  return images.length > 0 ? { $type: 'app.bsky.embed.images', images } : video;
}

/** Lets clients reserve space before they have loaded the file. */
const shapeOf = ({ width, height }: ShownFile): { aspectRatio?: Json } =>
  width !== null && height !== null ? { aspectRatio: { width, height } } : {};
