import { inspectImage } from './inspect-image.ts';
import { inspectVideo } from './inspect-video.ts';
import { mediaType } from './media-type.ts';

export type MediaFacts = {
  readonly type: string;
  /** In pixels, as displayed. */
  readonly width: number | null;
  readonly height: number | null;
  /** Of a video or an animation. */
  readonly durationMs: number | null;
};

/** What a file shows, apart from its type. Null when it cannot be read as what its first bytes say it is. */
export type PictureFacts = Omit<MediaFacts, 'type'>;

/**
 * Looks at the bytes of a local file: never at its name, and never at all of them at once. No picture is decoded.
 *
 * @returns the facts, or in a sentence for its owner why it is no image and no video that we take.
 */
export async function inspectFile(filePath: string): Promise<MediaFacts | { refusal: string }> {
  const found = await mediaType(filePath);
  if (!found) {
    return {
      refusal: 'The file is neither an image (JPEG, PNG, GIF, WebP) nor a video (MP4, MOV, WebM).',
    };
  }

  const { kind, type } = found;
  const facts = kind === 'image' ? await inspectImage(filePath) : await inspectVideo(filePath);
  return 'refusal' in facts ? facts : { type, ...facts };
}
