import { Readable } from 'node:stream';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import {
  addressSchema,
  answerOf,
  call,
  hasExpired,
  putBytes,
  putRefusal,
  refusal,
  unreadable,
  type LinkedinAccess,
} from './client.ts';
import {
  type Keeper,
  type KeptFile,
  type Range,
  type VideoUpload,
  mediaStatusOf,
  untilAvailable,
  untilProbablyAvailable,
} from './uploads.ts';

/** Limit per attempt. A long video takes minutes; the next attempts continue to wait. */
const processingTimeoutMs = 120_000;

/** An upload does not continue with URLs that expire sooner than this. */
const expiryMarginMs = 60_000;

type Begun = {
  readonly value: {
    readonly video: string;
    readonly uploadToken?: string;
    readonly uploadUrlsExpireAt?: number;
    readonly uploadInstructions: readonly Range[];
  };
};

const byte = { type: 'integer', minimum: 0 };

const readBegun = answerReader<Begun>({
  type: 'object',
  required: ['value'],
  properties: {
    value: {
      type: 'object',
      required: ['video', 'uploadInstructions'],
      properties: {
        video: { type: 'string', pattern: '^urn:li:video:[A-Za-z0-9_-]{1,100}$' },
        uploadToken: { type: 'string', maxLength: 5000 },
        uploadUrlsExpireAt: { type: 'integer' },
        uploadInstructions: {
          type: 'array',
          minItems: 1,
          maxItems: 2000,
          items: {
            type: 'object',
            required: ['uploadUrl', 'firstByte', 'lastByte'],
            properties: { uploadUrl: addressSchema, firstByte: byte, lastByte: byte },
          },
        },
      },
    },
  },
});

/**
 * Uploads a video to LinkedIn in the ranges that it requests, and waits until a post may use it. The progress is stored
 * after each range, so that the next attempt continues there.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/videos-api
 *
 * @param owner The URN of the posting account.
 * @returns the video's URN.
 */
export async function uploadVideo(
  access: LinkedinAccess,
  owner: string,
  file: PartMedia,
  keeper: Keeper,
): Promise<string> {
  const kept = await keptUrn(access, file, keeper);
  const urn = kept ?? (await bring(access, owner, file, keeper));
  const isShown = await untilAvailable(access, 'videos', urn, file, processingTimeoutMs);
  if (!isShown && kept === null) {
    await untilProbablyAvailable(access, file);
  }

  return urn;
}

/** The video of an earlier attempt, if it is complete and LinkedIn still has it. */
async function keptUrn(
  access: LinkedinAccess,
  file: PartMedia,
  keeper: Keeper,
): Promise<string | null> {
  const kept = keeper.kept();
  const isThere =
    kept?.kind === 'whole' && (await mediaStatusOf(access, 'videos', kept.urn, file)) !== null;
  return isThere ? kept.urn : null;
}

async function bring(
  access: LinkedinAccess,
  owner: string,
  file: PartMedia,
  keeper: Keeper,
): Promise<string> {
  const resumed = resumable(keeper.kept());
  const keep = (upload: VideoUpload) => keeper.keep({ kind: 'begun', id: file.id, upload });
  const upload = resumed ?? (await begin(access, owner, file));
  const partIds = [...upload.partIds];
  if (!resumed) {
    await keep(upload);
  }

  for (const range of upload.ranges.slice(partIds.length)) {
    const response = await putRange(access, file, range);
    const partId = response.headers['etag']?.replaceAll(/^W\/|"/gv, '');
    if (response.status < 200 || response.status > 299) {
      await forgetIfExpired(response, keeper);
      throw putRefusal(response, access, file.name);
    }
    if (!partId) {
      throw unreadable('upload');
    }

    partIds.push(partId);
    await keep({ ...upload, partIds });
  }

  await finalize(access, file, { ...upload, partIds }, { keeper, isResumed: resumed !== null });
  await keeper.keep({ kind: 'whole', id: file.id, urn: upload.urn });
  return upload.urn;
}

const resumable = (kept: KeptFile | null): VideoUpload | null =>
  kept?.kind === 'begun' && (kept.upload.expiresAtMs ?? Infinity) > Date.now() + expiryMarginMs
    ? kept.upload
    : null;

async function begin(access: LinkedinAccess, owner: string, file: PartMedia): Promise<VideoUpload> {
  const { sizeBytes: fileSizeBytes } = file;
  const response = await call(access, {
    method: 'POST',
    path: '/rest/videos?action=initializeUpload',
    body: {
      initializeUploadRequest: {
        owner,
        fileSizeBytes,
        uploadCaptions: false,
        uploadThumbnail: false,
      },
    },
    purpose: 'upload',
  });
  const refused = { ...access, purpose: 'upload', fileName: file.name } as const;
  const { value } = answerOf(response, refused, readBegun);
  const ranges = value.uploadInstructions;
  const isGapless = ranges.every(
    ({ firstByte, lastByte }, index) =>
      firstByte === (ranges[index - 1]?.lastByte ?? -1) + 1 && lastByte >= firstByte,
  );
  if (!isGapless || ranges.at(-1)?.lastByte !== fileSizeBytes - 1) {
    throw unreadable('upload');
  }

  return {
    urn: value.video,
    uploadToken: value.uploadToken ?? '',
    expiresAtMs: value.uploadUrlsExpireAt ?? null,
    ranges: ranges.map(({ uploadUrl, firstByte, lastByte }) => ({
      uploadUrl,
      firstByte,
      lastByte,
    })),
    partIds: [],
  };
}

function putRange(
  access: LinkedinAccess,
  file: PartMedia,
  { uploadUrl, firstByte, lastByte }: Range,
): Promise<EgressResponse> {
  const sizeBytes = lastByte - firstByte + 1;
  const stream = Readable.from(rangeBytes(file, firstByte, sizeBytes));
  // The URLs are signed and need no token.
  return putBytes(access, uploadUrl, { stream, sizeBytes }, { withToken: false });
}

/** Reads a range of a file. The last range is read to the end, to check that the file has its recorded size. */
async function* rangeBytes(
  file: PartMedia,
  firstByte: number,
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  let left = sizeBytes;
  const isLast = firstByte + sizeBytes === file.sizeBytes;
  for await (const chunk of fileBytes(file, firstByte)) {
    if (left > 0) {
      yield chunk.subarray(0, left);
    }

    left -= Math.min(left, chunk.length);
    if (left === 0 && !isLast) {
      return;
    }
  }
}

/** Safe to repeat: after a lost response LinkedIn may refuse it, and has the video. */
async function finalize(
  access: LinkedinAccess,
  file: PartMedia,
  { urn: video, uploadToken, partIds: uploadedPartIds }: VideoUpload,
  { keeper, isResumed }: { readonly keeper: Keeper; readonly isResumed: boolean },
): Promise<void> {
  const response = await call(access, {
    method: 'POST',
    path: '/rest/videos?action=finalizeUpload',
    body: { finalizeUploadRequest: { video, uploadToken, uploadedPartIds } },
    purpose: 'upload',
  });
  if (response.status === 200) {
    return;
  }

  const isRefused = response.status >= 400 && response.status < 500 && response.status !== 429;
  const status = isRefused ? await mediaStatusOf(access, 'videos', video, file) : null;
  if (status === 'PROCESSING' || status === 'AVAILABLE') {
    return;
  }

  if (status === 'UNTOLD' && isResumed && ![401, 403].includes(response.status)) {
    // The response to an earlier attempt may be lost, and this app may not see whether LinkedIn has the video.
    await keeper.keep(null);
    const message = `LinkedIn refused the rest of the file "${file.name}". The next attempt uploads it again.`;
    throw new NetworkError('network_unavailable', message, { accepted: 'no', server: 'answered' });
  }

  if (![401, 403].includes(response.status)) {
    await forgetIfExpired(response, keeper);
  }

  throw refusal(response, { ...access, purpose: 'upload', fileName: file.name });
}

async function forgetIfExpired(response: EgressResponse, keeper: Keeper): Promise<void> {
  if (hasExpired(response)) {
    await keeper.keep(null);
  }
}
