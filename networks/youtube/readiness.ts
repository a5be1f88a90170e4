import type { Access } from '../client.ts';
import { NetworkError, type PartMedia, type Readiness, type SentPart } from '../network.ts';
import { contentOf } from '../uploads/file-bytes.ts';
import { call, refusedAs } from './client.ts';
import { thumbnailTypes } from './metadata.ts';
import { videosWith, type Video } from './videos.ts';

/** Waits between two checks of a video, in milliseconds; they bound YouTube's own estimate. */
const wait = { shortestMs: 5000, usualMs: 15_000, longestMs: 120_000 };

type Asked = { readonly privacy: string; readonly thumbnail: PartMedia | 'missing' | undefined };

/**
 * Whether a video is watchable; sets its thumbnail. Costs 1 unit of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos (`status`, `processingDetails`)
 */
export async function readinessOf(
  access: Access,
  { remoteId }: SentPart,
  { privacy, thumbnail }: Asked,
): Promise<Readiness> {
  const parts = 'status,processingDetails';
  const videos = await videosWith(access, [remoteId], parts, 'reconcile');
  const video = videos.find(({ id }) => id === remoteId);
  if (!video) {
    throw new NetworkError('network_unavailable', 'YouTube does not show the video.', {
      accepted: 'unknown',
      server: 'answered',
    });
  }

  const refused = reasonOf(video);
  if (refused !== null) {
    throw new NetworkError('media_refused', `${refused}.`, { accepted: 'no', server: 'answered' });
  }

  const { uploadStatus, privacyStatus } = video.status ?? {};
  if (uploadStatus !== 'processed') {
    return { kind: 'processing', checkAfterMs: checkAfterMs(video) };
  }

  const warnings = [
    lockWarning(privacy, privacyStatus),
    thumbnail === 'missing' ? missingWarning : null,
    typeof thumbnail === 'object' ? await setThumbnail(access, remoteId, thumbnail) : null,
  ].filter((warning) => warning !== null);
  return { kind: 'ready', ...(warnings.length > 0 && { warning: warnings.join(' ') }) };
}

const missingWarning =
  'The video has no thumbnail of its own: the picture is not in the media library.';

function checkAfterMs({ processingDetails }: Video): number {
  const left = Number(processingDetails?.processingProgress?.timeLeftMs ?? wait.usualMs);
  const waitMs = Number.isFinite(left) ? left : wait.usualMs;
  return Math.min(Math.max(waitMs, wait.shortestMs), wait.longestMs);
}

/**
 * YouTube makes all uploads of unaudited apps private, and nobody can change that.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos/insert
 */
const lockWarning = (requested: string, actual: string | undefined): string | null =>
  requested !== 'private' && actual === 'private'
    ? `YouTube made this video private, although it was to be ${requested}: it does so with all videos of apps that it has not audited. The operator can ask YouTube for the audit.`
    : null;

/** Why there is no video, as a clause; null while there may be one. */
function reasonOf({ status = {}, processingDetails = {} }: Video): string | null {
  const { uploadStatus, failureReason = '', rejectionReason = '' } = status;
  if (uploadStatus === 'failed') {
    return `YouTube could not use the video: ${describeReason(failureReason)}`;
  }
  if (uploadStatus === 'rejected') {
    return `YouTube rejected the video: ${describeReason(rejectionReason)}`;
  }
  if (uploadStatus === 'deleted') {
    return 'The video was deleted on YouTube';
  }

  const { processingStatus, processingFailureReason = '' } = processingDetails;
  return processingStatus === 'failed'
    ? `YouTube could not process the video: ${describeReason(processingFailureReason)}`
    : null;
}

/** An unknown reason is quoted as YouTube sent it. */
const describeReason = (reason: string): string =>
  reasons.get(reason) ??
  (/^[A-Za-z]+$/u.test(reason) ? `its reason is "${reason}"` : 'it gives no reason');

const reasons: ReadonlyMap<string, string> = new Map(
  Object.entries({
    codec: 'it has a codec that YouTube does not know',
    conversion: 'it could not be converted',
    emptyFile: 'the file is empty',
    invalidFile: 'the file is in no format that YouTube knows',
    tooSmall: 'the file is too small',
    uploadAborted: 'the upload was broken off',
    claim: 'it is blocked by the owner of something in it',
    copyright: 'it infringes a copyright',
    duplicate: 'the channel has the same video already',
    inappropriate: 'it has content that YouTube does not allow',
    legal: 'there is a legal reason against it',
    length: 'it is longer than this channel may upload',
    termsOfUse: "it violates YouTube's terms of use",
    trademark: 'it infringes a trademark',
    uploaderAccountClosed: "the channel's account is closed",
    uploaderAccountSuspended: "the channel's account is suspended",
    other: 'something else went wrong',
    streamingFailed: 'it could not be made ready to be streamed',
    transcodeFailed: 'it could not be transcoded',
    uploadFailed: 'the file did not arrive',
  }),
);

/**
 * Sets a video's thumbnail; repeating it is harmless. Costs 50 units of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/thumbnails/set
 *
 * @returns why the video has no thumbnail, as a sentence; null when it is set.
 */
async function setThumbnail(
  access: Access,
  videoId: string,
  file: PartMedia,
): Promise<string | null> {
  try {
    return await sendThumbnail(access, videoId, file);
  } catch (error) {
    if (error instanceof NetworkError && lastingErrors.has(error.code)) {
      return withoutThumbnail(error.message);
    }
    throw error;
  }
}

/** Lasting errors: YouTube refuses the picture, or the channel may not have thumbnails. */
const lastingErrors: ReadonlySet<string> = new Set([
  'content_refused',
  'media_refused',
  'permission_missing',
]);

const withoutThumbnail = (why: string): string => `The video has no thumbnail of its own. ${why}`;

async function sendThumbnail(
  access: Access,
  videoId: string,
  file: PartMedia,
): Promise<string | null> {
  const { name, type } = file;
  if (!thumbnailTypes.includes(type)) {
    return withoutThumbnail(`YouTube takes JPEG and PNG, and "${name}" is ${type}.`);
  }

  const query = new URLSearchParams({ videoId, uploadType: 'media' });
  const response = await call(access, {
    method: 'POST',
    path: `/upload/youtube/v3/thumbnails/set?${query}`,
    file: contentOf(file),
    purpose: 'reconcile',
    about: 'thumbnail',
  });
  if (response.status === 200) {
    return null;
  }

  const error = response.refusal();
  // A limit of the channel for some hours, which must not delay a watchable video.
  if (refusedAs(response, 'uploadRateLimitExceeded') || response.status === 413) {
    return withoutThumbnail(error.message);
  }
  throw error;
}
