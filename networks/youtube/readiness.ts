import { NetworkError, type PartMedia, type Readiness, type SentPart } from '../network.ts';
import type { Access } from '../access-token.ts';
import type { Privacy } from './options.ts';
import { setThumbnail } from './thumbnail.ts';
import { videosWith, type Video } from './videos.ts';

/** How long YouTube is left alone with a video, in milliseconds, whatever it says itself. */
const wait = { shortestMs: 5000, usualMs: 15_000, longestMs: 120_000 };

/** What its owner asked for that only shows once the video is there. */
type Asked = { readonly privacy: Privacy; readonly thumbnail: PartMedia | 'missing' | undefined };

/**
 * Whether a video can be watched, with its thumbnail. Costs 1 unit of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos (`status`, `processingDetails`)
 *
 * @throws NetworkError `media_refused` when YouTube gave the video up, with its reason in words.
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
      taken: 'unknown',
      server: 'answered',
    });
  }

  const refused = reasonOf(video);
  if (refused !== null) {
    throw new NetworkError('media_refused', `${refused}.`, { taken: 'no', server: 'answered' });
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

/** Why there is no video, as a clause; null while there may be one. */
function reasonOf({ status = {}, processingDetails = {} }: Video): string | null {
  const { uploadStatus, failureReason = '', rejectionReason = '' } = status;
  if (uploadStatus === 'failed') {
    return `YouTube could not use the video: ${words(failures, failureReason)}`;
  }
  if (uploadStatus === 'rejected') {
    return `YouTube rejected the video: ${words(rejections, rejectionReason)}`;
  }
  if (uploadStatus === 'deleted') {
    return 'The video was deleted on YouTube';
  }

  const { processingStatus, processingFailureReason = '' } = processingDetails;
  return processingStatus === 'failed'
    ? `YouTube could not process the video: ${words(processingFailures, processingFailureReason)}`
    : null;
}

type Words = Readonly<Record<string, string>>;

/** A reason that is new to us is told in YouTube's own word. */
const words = (known: Words, reason: string): string =>
  (Object.hasOwn(known, reason) ? known[reason] : undefined) ??
  (/^[A-Za-z]+$/u.test(reason) ? `its reason is "${reason}"` : 'it gives no reason');

const failures: Words = {
  codec: 'it has a codec that YouTube does not know',
  conversion: 'it could not be converted',
  emptyFile: 'the file is empty',
  invalidFile: 'the file is in no format that YouTube knows',
  tooSmall: 'the file is too small',
  uploadAborted: 'the upload was broken off',
};

const rejections: Words = {
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
};

const processingFailures: Words = {
  other: 'something else went wrong',
  streamingFailed: 'it could not be made ready to be streamed',
  transcodeFailed: 'it could not be transcoded',
  uploadFailed: 'the file did not arrive',
};

function checkAfterMs({ processingDetails }: Video): number {
  const left = Number(processingDetails?.processingProgress?.timeLeftMs ?? wait.usualMs);
  const waitMs = Number.isFinite(left) ? left : wait.usualMs;
  return Math.min(Math.max(waitMs, wait.shortestMs), wait.longestMs);
}

/**
 * YouTube makes what apps upload that it has not audited private, and lets nobody change it.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos/insert
 */
const lockWarning = (asked: Privacy, told: string | undefined): string | null =>
  asked !== 'private' && told === 'private'
    ? `YouTube made this video private, although it was to be ${asked}: it does so with all videos of apps that it has not audited. Whoever runs this service can ask YouTube for the audit.`
    : null;
