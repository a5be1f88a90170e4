import type { Json } from '../../../domain/json-schema.ts';
import type { Connection, PartMedia } from '../../network.ts';
import { isImage, isVideo, nameOf } from '../../validation/files.ts';
import type { PreparedPost } from '../prepared-post.ts';
import { blueskySettings } from '../rules.ts';
import { processVideo } from '../video/process-video.ts';
import { blobOf } from './blob.ts';
import { embedOf, type ShownFile } from './embed.ts';
import { fitImage } from './fit-image.ts';

type PreparedFiles = Required<
  Pick<PreparedPost, 'blobs' | 'encoded' | 'processed' | 'warnings'>
> & {
  /** The embed that shows the files; null when there are none. */
  readonly embed: Json;
};

/**
 * Computes the blobs of a post's files, shrinks images that are too large, and has videos processed.
 *
 * @throws NetworkError when a file cannot be read or shown.
 */
export async function prepareFiles(
  connection: Connection,
  media: readonly PartMedia[],
): Promise<PreparedFiles> {
  const { maxImageBytes } = blueskySettings(connection.settings);
  const shown: ShownFile[] = [];
  const encoded: number[] = [];
  const processed: number[] = [];
  const warnings: string[] = [];
  for (const [index, file] of media.entries()) {
    if (isImage(file) && file.sizeBytes > maxImageBytes) {
      const { blob, width, height, warning } = await fitImage(connection, file, maxImageBytes);
      shown.push({ file, blob, width, height });
      encoded.push(index);
      warnings.push(warning);
      continue;
    }

    const { width, height } = file;
    const result = isVideo(file) ? await processVideo(connection, file) : null;
    shown.push({ file, blob: result ?? (await blobOf(file)), width, height });
    if (result) {
      processed.push(index);
    } else if (isVideo(file)) {
      warnings.push(
        `${nameOf(file)} went out without Bluesky's video service, which was not available to this account. Bluesky processes it after the post: it cannot be played until then, and not at all if that fails.`,
      );
    }
  }

  const blobs = shown.map(({ blob }) => blob);
  return { blobs, encoded, processed, warnings, embed: embedOf(shown) };
}
