import { maxStoredFileBytes } from '../files.ts';
import type { Processing } from '../processing.ts';
import type { XFile } from './post.ts';
import { invalid } from './problems.ts';
import type { InitializeUpload, MediaCategory, UploadAnswer } from './wire.ts';

const checkAfterSecs = 1;

/** A file during its upload, or waiting for its post. */
export type Upload = {
  readonly id: string;
  readonly category: MediaCategory;
  readonly totalBytes: number;
  readonly expiresAtMs: number;
  /** Segments by index, until the upload is complete. */
  readonly segments: Map<number, Buffer>;
  /** Null until the upload is complete. */
  file: XFile | null;
  /** Why X refuses the file: its processing fails. */
  refusal: string | null;
};

export type WorkState = ReturnType<Processing['stateOf']>;

/** File types of each category; the sandbox supports those for posts. */
export const typesOf: Readonly<Record<MediaCategory, readonly string[]>> = {
  tweet_image: ['image/jpeg', 'image/png', 'image/webp'],
  tweet_gif: ['image/gif'],
  tweet_video: ['video/mp4', 'video/quicktime'],
  dm_gif: [],
  dm_image: [],
  dm_video: [],
  subtitles: [],
};

export const isCategory = (name: string): name is MediaCategory =>
  Object.hasOwn(typesOf, name) && typesOf[name as MediaCategory].length > 0;

/** @throws Refusal 400 for an upload that the sandbox does not support. */
export function announced(body: InitializeUpload): {
  readonly category: MediaCategory;
  readonly totalBytes: number;
} {
  const { media_category: category, media_type: type, total_bytes: totalBytes } = body;
  if (category === undefined || type === undefined || totalBytes === undefined) {
    throw invalid('The upload needs a media_category, a media_type and its total_bytes.');
  }
  if (!isCategory(category) || !typesOf[category].includes(type)) {
    throw invalid(`The media category ${category} has no files of ${type}.`);
  }
  if (totalBytes < 1 || totalBytes > maxStoredFileBytes) {
    throw invalid(`The sandbox keeps files of 1 to ${maxStoredFileBytes} bytes.`);
  }
  return { category, totalBytes };
}

/** Joins all segments in order. @throws Refusal 400 when some are missing. */
export function bytesOf({ segments, totalBytes, file }: Upload): Buffer {
  const inOrder = Array.from({ length: segments.size }, (_, index) => segments.get(index));
  const bytes = Buffer.concat(inOrder.filter((segment) => segment !== undefined));
  if (file !== null || bytes.length !== totalBytes) {
    throw invalid('Segments do not add up to provided total file size.');
  }
  return bytes;
}

const states: Readonly<Record<WorkState, string>> = {
  processing: 'in_progress',
  ready: 'succeeded',
  failed: 'failed',
};

/** @param state Of the processing. */
export function presentUpload(upload: Upload, state: WorkState, nowMs: number): UploadAnswer {
  const { id, category, file, totalBytes, expiresAtMs } = upload;
  const work = {
    state: states[state],
    ...(state === 'processing' && { check_after_secs: checkAfterSecs }),
  };
  return {
    data: {
      id,
      media_key: `${category === 'tweet_video' ? 13 : 3}_${id}`,
      expires_after_secs: Math.floor((expiresAtMs - nowMs) / 1000),
      ...(file && { size: totalBytes }),
      ...(file && category !== 'tweet_image' && { processing_info: work }),
    },
  };
}
