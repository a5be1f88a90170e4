import type { AppBskyRichtextFacet, Facet } from '@atproto/api';
import { Readable } from 'node:stream';
import { having, type Json } from '../../domain/json-schema.ts';
import { shrinkImage } from '../../runtime/media/shrink-image.ts';
import { answerReader, quote } from '../answer.ts';
import { cardMaker } from '../link-card/card-maker.ts';
import { NetworkError, type Connection, type PartMedia, type PreparedPart } from '../network.ts';
import { contentOf, contentOfBytes, fileBytes, type FileContent } from '../uploads/file-bytes.ts';
import { isImage, isVideo, nameOf, numberOf, sizesOf } from '../validation/files.ts';
import { blobOf, blobOfBytes, blobSchema, heldPicture, holdPicture, type Blob } from './blobs.ts';
import { uploadBlob } from './client.ts';
import { blueskySettings } from './rules.ts';
import { withSession } from './session.ts';
import { preparedPostOf, type PreparedPost } from './thread.ts';
import { processVideo } from './video.ts';

type PreparedFiles = Required<
  Pick<PreparedPost, 'blobs' | 'encoded' | 'processed' | 'warnings'>
> & {
  readonly embed: Json;
};

/** Computes the blobs of a post's files, shrinks images that are too large, and has videos processed. */
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

type ShownFile = {
  readonly file: Pick<PartMedia, 'type' | 'altText'>;
  readonly blob: Blob;
  readonly width: number | null;
  readonly height: number | null;
};

/**
 * The embed of a record for its files: images, or one video.
 *
 * Source: lexicons `app.bsky.embed.images` and `app.bsky.embed.video`.
 */
function embedOf(files: readonly ShownFile[]): Json {
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

type EmbeddedCard = {
  readonly embed: Json;
  readonly thumb?: Blob;
  readonly warnings: readonly string[];
};

export const noCard: EmbeddedCard = { embed: null, warnings: [] };

/** Source: lexicon `app.bsky.embed.external`. */
const thumbBounds = { maxBytes: 1_000_000, maxSide: 1200 };

/** Makes the link cards of a thread's posts and holds their pictures for the upload. */
export function cardEmbedder(
  connection: Connection,
): (facets: readonly Facet[]) => Promise<EmbeddedCard> {
  const makeCard = cardMaker(connection, thumbBounds);
  return async (facets) => {
    const { card, warnings } = await makeCard(firstLink(facets));
    if (!card) {
      return { embed: null, warnings };
    }

    const { url: uri, title, description, picture } = card;
    const external = { uri, title, description };
    if (!picture) {
      return { embed: { $type, external }, warnings };
    }

    const thumb = blobOfBytes(picture.bytes, picture.type);
    if (!holdPicture(connection, thumb.ref.$link, picture.bytes)) {
      const warning = `The card for ${quote(uri, [])} has no picture: the cards of one thread have no room for more.`;
      return { embed: { $type, external }, warnings: [warning] };
    }

    return { embed: { $type, external: { ...external, thumb } }, thumb, warnings };
  };
}

const $type = 'app.bsky.embed.external';

export type Feature = Facet['features'][number];

export const isLink = (feature: Feature): feature is AppBskyRichtextFacet.Link =>
  feature.$type === 'app.bsky.richtext.facet#link';

function firstLink(facets: readonly Facet[]): string | undefined {
  return facets
    .toSorted((a, b) => a.index.byteStart - b.index.byteStart)
    .flatMap(({ features }) => features)
    .filter(isLink)
    .map(({ uri }) => uri)
    .find((uri) => /^https?:/iv.test(uri));
}

/**
 * Uploads the files of posts under the CIDs that their records contain. The server stores equal bytes once, and deletes
 * files that no record names after some hours.
 *
 * @returns the CIDs of the parts' files. The pictures of link cards are uploaded too.
 */
export async function uploadFiles(
  connection: Connection,
  parts: readonly PreparedPart[],
): Promise<string[]> {
  const cids: string[] = [];
  for (const part of parts) {
    const { blobs = [], thumb, encoded, processed } = preparedPostOf(part);
    if (blobs.length !== part.media.length) {
      throw new Error(`Part ${part.key} was prepared with other files.`);
    }

    for (const [index, file] of part.media.entries()) {
      const blob = blobs[index]!;
      if (encoded?.includes(index)) {
        const { maxImageBytes } = blueskySettings(connection.settings);
        const bytes = await fittedBytes(connection, file, blob, maxImageBytes);
        await upload(connection, file.name, blob, () => contentOfBytes(bytes, blob.mimeType));
      } else if (!processed?.includes(index)) {
        await upload(connection, file.name, blob, () => contentOf(file, blob.mimeType));
      }
      cids.push(blob.ref.$link);
    }

    if (thumb) {
      const bytes = heldPicture(connection, thumb.ref.$link) ?? throwPictureLost();
      const content = () => contentOfBytes(bytes, thumb.mimeType);
      await upload(connection, 'the picture of the link card', thumb, content);
    }
  }

  return cids;
}

/** Each attempt prepares its posts and then uploads them, so the bytes are normally still held. */
function throwPictureLost(): never {
  const message = 'The picture of the link card is no longer in memory.';
  throw new NetworkError('internal', message, { accepted: 'no' });
}

const readUploaded = answerReader(having({ blob: blobSchema }));

/** @param content Called once per request. */
async function upload(
  connection: Connection,
  fileName: string,
  blob: Blob,
  content: () => FileContent,
): Promise<void> {
  const answer = await withSession(connection, (authorization) =>
    uploadBlob(connection, { file: content(), fileName }, authorization),
  );
  const { blob: kept } = answer.as(readUploaded);
  if (kept.ref.$link !== blob.ref.$link || kept.mimeType !== blob.mimeType) {
    const message = `The Bluesky server detected another media type for the file "${fileName}" (${kept.mimeType}, not ${blob.mimeType}).`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }
}

type FittedImage = {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  readonly warning: string;
};

/** Re-encodes an image so that the network accepts it, and holds it for the upload. */
async function fitImage(
  connection: Connection,
  file: PartMedia,
  maxBytes: number,
): Promise<FittedImage> {
  const { bytes, type, width, height } = await encode(connection, file, maxBytes);
  const blob = blobOfBytes(bytes, type);
  holdPicture(connection, blob.ref.$link, bytes);
  const [limit, had] = sizesOf(maxBytes, file.sizeBytes);
  const size = `${numberOf(width)} × ${numberOf(height)} pixels`;
  const kind = type === 'image/webp' ? 'WebP' : 'JPEG';
  const warning = `Bluesky takes images of up to ${limit}, and ${nameOf(file)} has ${had}: it went out as a ${kind} of ${size} with ${sizesOf(maxBytes, bytes.length)[1]}.`;
  return { blob, width, height, warning };
}

/** The bytes of an image that was re-encoded for a record. */
async function fittedBytes(
  connection: Connection,
  file: PartMedia,
  blob: Blob,
  maxBytes: number,
): Promise<Buffer> {
  const cid = blob.ref.$link;
  const bytes = heldPicture(connection, cid) ?? (await encode(connection, file, maxBytes)).bytes;
  if (blobOfBytes(bytes, blob.mimeType).ref.$link !== cid) {
    const message = `The file ${nameOf(file)} was made smaller with another result than before.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return bytes;
}

/** In milliseconds, with the wait for a processor. Shorter than an attempt. */
const encodeTimeoutMs = 3 * 60_000;

async function encode({ workspaceId }: Connection, file: PartMedia, maxBytes: number) {
  const pixels = (file.width ?? Infinity) * (file.height ?? Infinity);
  const made = await shrinkImage(
    Readable.from(fileBytes(file)),
    { maxBytes, pixels, workspaceId },
    AbortSignal.timeout(encodeTimeoutMs),
  ).catch((error: unknown) => {
    if (error instanceof NetworkError) {
      throw error;
    }

    const message = `The file ${nameOf(file)} could not be made smaller at the moment.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  });
  if (!made) {
    const message = `The file ${nameOf(file)} is larger than Bluesky takes, and could not be made smaller.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  return made;
}
