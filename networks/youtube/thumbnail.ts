import { Readable } from 'node:stream';
import { fileBytes } from '../file-bytes.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
import { call } from './client.ts';
import { thumbnailTypes } from './options.ts';
import { refusal, refusedAs } from './refusals.ts';

/**
 * Sets a video's thumbnail; repeating it is harmless. Costs 50 units of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/thumbnails/set
 *
 * @returns why the video has no thumbnail, as a sentence; null when it is set.
 * @throws NetworkError when a later attempt may succeed.
 */
export async function setThumbnail(
  access: TokenAccess,
  videoId: string,
  file: PartMedia,
): Promise<string | null> {
  try {
    return await send(access, videoId, file);
  } catch (error) {
    if (error instanceof NetworkError && given.has(error.code)) {
      return without(error.message);
    }
    throw error;
  }
}

/** Lasting errors: YouTube refuses the picture, or the channel may not have thumbnails. */
const given: ReadonlySet<string> = new Set([
  'content_refused',
  'media_refused',
  'permission_missing',
]);

const without = (why: string): string => `The video has no thumbnail of its own. ${why}`;

async function send(access: TokenAccess, videoId: string, file: PartMedia): Promise<string | null> {
  const { name, type, sizeBytes } = file;
  if (!thumbnailTypes.includes(type)) {
    return without(`YouTube takes JPEG and PNG, and "${name}" is ${type}.`);
  }

  const query = new URLSearchParams({ videoId, uploadType: 'media' });
  const response = await call(access, {
    method: 'POST',
    path: `/upload/youtube/v3/thumbnails/set?${query}`,
    file: { type, body: { stream: Readable.from(fileBytes(file)), sizeBytes } },
    purpose: 'reconcile',
  });
  if (response.status === 200) {
    return null;
  }

  const { accessToken } = access;
  const error = refusal(response, { purpose: 'reconcile', accessToken, about: 'thumbnail' });
  // A limit of the channel for some hours, which must not delay a watchable video.
  if (refusedAs(response, 'uploadRateLimitExceeded') || response.status === 413) {
    return without(error.message);
  }
  throw error;
}
