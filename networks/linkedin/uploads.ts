import { count, having, listOf, textUpTo, type Value } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { isSuccess } from '../client.ts';
import type { Connection, PartMedia, ThreadPart } from '../network.ts';
import { contentOf, type FileContent } from '../uploads/file-bytes.ts';
import { keptUpload, UploadGone, uploadInSteps } from '../uploads/resumable.ts';
import { isVideo } from '../validation/files.ts';
import {
  addressSchema,
  ask,
  call,
  hasExpired,
  putBytes,
  putRefusal,
  unreadable,
  type LinkedinAccess,
} from './client.ts';
import { blindWaitMs, mediaStatusOf, untilAvailable } from './media-status.ts';

const rangeSchema = having({ uploadUrl: addressSchema, firstByte: count, lastByte: count });

type Range = Value<typeof rangeSchema>;

type BegunVideo = {
  readonly kind: 'begun';
  readonly urn: string;
  readonly uploadToken: string;
  readonly expiresAtMs: number | null;
  readonly ranges: readonly Range[];
  readonly partIds: readonly string[];
};

export type LinkedinUpload =
  | BegunVideo
  /** Uploaded. A second send uses the same URN, so that LinkedIn recognises the duplicate. */
  | {
      readonly kind: 'whole';
      readonly urn: string;
      readonly expiresAtMs: null;
      readonly sinceMs: number;
    };

const whole = (urn: string): LinkedinUpload => ({
  kind: 'whole',
  urn,
  expiresAtMs: null,
  sinceMs: Date.now(),
});

type Way = {
  readonly access: LinkedinAccess;
  readonly owner: string;
  readonly file: PartMedia;
};

/**
 * Uploads an image or a video to LinkedIn, and waits until a post may use it.
 *
 * Sources: https://learn.microsoft.com/linkedin/marketing/community-management/shares/images-api,
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/videos-api
 */
export async function uploadFile(
  access: LinkedinAccess,
  connection: Connection,
  part: ThreadPart,
  file: PartMedia,
): Promise<string> {
  const way = { access, owner: connection.remoteId, file };
  const { urn } = await uploadInSteps(keptUpload<LinkedinUpload>(connection, part, file), {
    begin: async () =>
      isVideo(file)
        ? beginVideo(way)
        : whole(
            await bringImage(access, way.owner, {
              ...contentOf(file, anyType),
              fileName: file.name,
            }),
          ),
    next: (upload, isOld) => next(way, upload, isOld),
  });
  return urn;
}

/** Images are usually processed within seconds. A long video takes minutes; the next attempts continue to wait. */
const patienceMs = { images: 60_000, videos: 120_000 };

async function next(
  way: Way,
  upload: LinkedinUpload,
  isOld: boolean,
): Promise<LinkedinUpload | null> {
  const { access, file } = way;
  if (upload.kind === 'whole') {
    const resource = isVideo(file) ? 'videos' : 'images';
    const media = { resource, urn: upload.urn, fileName: file.name } as const;
    const untoldUntilMs = isVideo(file) ? upload.sinceMs + blindWaitMs(file) : 0;
    const waiting = { patienceMs: patienceMs[resource], untoldUntilMs, isOld };
    await untilAvailable(access, media, waiting);
    return null;
  }

  const range = upload.ranges[upload.partIds.length];
  if (!range) {
    await finalize(way, upload, isOld);
    return whole(upload.urn);
  }
  return { ...upload, partIds: [...upload.partIds, await putRange(way, range)] };
}

const readImage = answerReader(
  having({
    value: having({
      uploadUrl: addressSchema,
      image: { type: 'string', pattern: '^urn:li:image:[A-Za-z0-9_-]{1,100}$' },
    }),
  }),
);

/** @returns the URN of the image, which LinkedIn may still be processing. */
export async function bringImage(
  access: LinkedinAccess,
  owner: string,
  { body, fileName }: Pick<FileContent, 'body'> & { readonly fileName: string },
): Promise<string> {
  const request = {
    method: 'POST',
    path: '/rest/images?action=initializeUpload',
    body: { initializeUploadRequest: { owner } },
    purpose: 'upload',
    fileName,
  } as const;
  const { uploadUrl, image } = (await ask(access, request, readImage)).value;
  const response = await putBytes(access, uploadUrl, { body, fileName }, { withToken: true });
  if (!isSuccess(response)) {
    throw putRefusal(response, fileName);
  }
  return image;
}

const readVideo = answerReader(
  having({
    value: having(
      {
        video: { type: 'string', pattern: '^urn:li:video:[A-Za-z0-9_-]{1,100}$' },
        uploadInstructions: { ...listOf(rangeSchema, 2000), minItems: 1 },
      },
      { uploadToken: textUpTo(5000), uploadUrlsExpireAt: { type: 'integer' } },
    ),
  }),
);

async function beginVideo({ access, owner, file }: Way): Promise<LinkedinUpload> {
  const { sizeBytes: fileSizeBytes } = file;
  const options = { uploadCaptions: false, uploadThumbnail: false };
  const request = {
    method: 'POST',
    path: '/rest/videos?action=initializeUpload',
    body: { initializeUploadRequest: { owner, fileSizeBytes, ...options } },
    purpose: 'upload',
    fileName: file.name,
  } as const;
  const { value } = await ask(access, request, readVideo);
  return {
    kind: 'begun',
    urn: value.video,
    uploadToken: value.uploadToken ?? '',
    expiresAtMs: value.uploadUrlsExpireAt ?? null,
    ranges: value.uploadInstructions,
    partIds: [],
  };
}

/** @returns LinkedIn's id of the range. @throws UploadGone when the upload URL has expired. */
async function putRange({ access, file }: Way, range: Range): Promise<string> {
  const { uploadUrl, firstByte, lastByte } = range;
  const { body } = contentOf(file, anyType, firstByte, lastByte + 1);
  // The URLs are signed and need no token.
  const { name: fileName } = file;
  const response = await putBytes(access, uploadUrl, { body, fileName }, { withToken: false });
  if (!isSuccess(response)) {
    const error = putRefusal(response, fileName);
    throw hasExpired(response) ? new UploadGone(error) : error;
  }

  const partId = response.headers['etag']?.replaceAll(/^W\/|"/gv, '');
  if (!partId) {
    throw unreadable('upload');
  }
  return partId;
}

const anyType = 'application/octet-stream';

/** Safe to repeat: after a lost response LinkedIn may refuse it, and has the video. */
async function finalize(
  { access, file: { name: fileName } }: Way,
  { urn, uploadToken, partIds: uploadedPartIds }: BegunVideo,
  isOld: boolean,
): Promise<void> {
  const response = await call(access, {
    method: 'POST',
    path: '/rest/videos?action=finalizeUpload',
    body: { finalizeUploadRequest: { video: urn, uploadToken, uploadedPartIds } },
    purpose: 'upload',
    fileName,
  });
  if (response.status === 200) {
    return;
  }

  const isRefused = response.status >= 400 && response.status < 500 && response.status !== 429;
  const media = { resource: 'videos', urn, fileName } as const;
  const status = isRefused ? await mediaStatusOf(access, media) : null;
  if (status === 'PROCESSING' || status === 'AVAILABLE') {
    return;
  }

  const error = response.refusal();
  // The response to an earlier attempt may be lost, and this app may not see whether LinkedIn has the video.
  const mayHaveIt = status === 'UNTOLD' && isOld;
  const isGone = ![401, 403].includes(response.status) && (mayHaveIt || hasExpired(response));
  throw isGone ? new UploadGone(error) : error;
}
