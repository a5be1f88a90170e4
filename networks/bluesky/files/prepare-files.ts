import type { Json } from '../../../domain/json-schema.ts';
import type { Connection, PartMedia } from '../../network.ts';
import { isImage } from '../../validation/files.ts';
import type { PreparedPost } from '../prepared-post.ts';
import { blueskySettings } from '../rules.ts';
import { blobOf } from './blob-of.ts';
import { embedOf, type ShownFile } from './embed.ts';
import { fitImage } from './fit-image.ts';

type PreparedFiles = Required<Pick<PreparedPost, 'blobs' | 'encoded' | 'warnings'>> & {
  /** The part of the record that shows them; null when there are none. */
  readonly embed: Json;
};

/**
 * Names the files of a post, and makes those smaller that the network would not take.
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
  const warnings: string[] = [];
  for (const [index, file] of media.entries()) {
    if (isImage(file) && file.sizeBytes > maxImageBytes) {
      const { blob, width, height, warning } = await fitImage(connection, file, maxImageBytes);
      shown.push({ file, blob, width, height });
      encoded.push(index);
      warnings.push(warning);
    } else {
      shown.push({ file, blob: await blobOf(file), width: file.width, height: file.height });
    }
  }

  return { blobs: shown.map(({ blob }) => blob), encoded, warnings, embed: embedOf(shown) };
}
