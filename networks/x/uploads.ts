import { having, mayHave, text, type Value } from '../../domain/json-schema.ts';
import { answerReader, quote } from '../answer.ts';
import type { NetworkRequest } from '../http.ts';
import { NetworkError, type Connection, type PartMedia, type ThreadPart } from '../network.ts';
import { tokenOf } from '../client.ts';
import { contentOf, formOf } from '../uploads/file-bytes.ts';
import { untilProcessed } from '../uploads/processing.ts';
import { keptUpload, UploadGone, uploadInSteps } from '../uploads/resumable.ts';
import { hasType, isImage, isVideo } from '../validation/files.ts';
import { call, idSchema } from './client.ts';

export type XUpload = {
  readonly id: string;
  readonly expiresAtMs: number;
  /** How many segments X has; 0 for a file that was sent in one request. */
  readonly segments: number;
  /** `uploading`: X may lack segments, or the end of the upload. `ready`: a post may use the file. */
  readonly state: 'uploading' | 'processing' | 'ready';
  readonly stateSinceMs: number;
  readonly isDescribed: boolean;
};

type Way = {
  readonly connection: Connection;
  readonly file: PartMedia;
};

/**
 * Uploads one file to X, with its alt text, and waits until a post may use it.
 *
 * Sources: https://docs.x.com/x-api/media/introduction, X's OpenAPI document 2.167.
 */
export async function uploadFile(
  connection: Connection,
  part: ThreadPart,
  file: PartMedia,
): Promise<string> {
  const way = { connection, file };
  const { id } = await uploadInSteps(keptUpload<XUpload>(connection, part, file), {
    begin: () => begin(way),
    next: (upload, isOld) => next(way, upload, isOld),
  });
  return id;
}

/** Images go in one request. GIFs and videos first get an id. */
async function begin(way: Way): Promise<XUpload> {
  const { file } = way;
  const category = categoryOf(file);
  const isWhole = category === 'tweet_image';
  const body = { media_type: file.type, media_category: category, total_bytes: file.sizeBytes };
  const answer = isWhole
    ? await sendWhole(way, category)
    : await requestUpload(way, { path: '/2/media/upload/initialize', body }, readUpload);
  const begun = {
    id: answer.data.id,
    expiresAtMs: expiryOf(answer),
    segments: 0,
    state: 'uploading',
    stateSinceMs: Date.now(),
    isDescribed: false,
  } as const;
  return isWhole ? withState(way, begun, answer) : begun;
}

const categoryOf = (file: PartMedia): string =>
  isVideo(file) ? 'tweet_video' : hasType('image/gif')(file) ? 'tweet_gif' : 'tweet_image';

async function next(way: Way, upload: XUpload, isOld: boolean): Promise<XUpload | null> {
  const { file } = way;
  const { id, segments, state } = upload;
  if (state === 'processing') {
    return withState(way, upload, await processed(way, upload));
  }
  if (state === 'uploading' && segments < Math.ceil(file.sizeBytes / segmentBytes)) {
    await append(way, id, segments);
    return { ...upload, segments: segments + 1 };
  }
  if (state === 'uploading') {
    return withState(way, upload, await finalize(way, id, isOld));
  }

  const { altText } = file;
  if (!altText || upload.isDescribed || !isImage(file)) {
    return null;
  }
  const body = { id, metadata: { alt_text: { text: altText } } };
  // X charges for each call, so its success is stored.
  await requestUpload(way, { path: '/2/media/metadata', body }, () => true);
  return { ...upload, isDescribed: true };
}

const sendWhole = (way: Way, category: string) => {
  const form = formOf({ media_category: category }, 'media', 'media', contentOf(way.file, anyType));
  return requestUpload(way, { path: '/2/media/upload', file: form }, readUpload);
};

const anyType = 'application/octet-stream';

/** X accepts up to 5 MB per request and up to 1000 segments; 512 MB are 128 of these. */
export const segmentBytes = 4 * 1024 * 1024;

async function append(way: Way, id: string, index: number): Promise<void> {
  const fields = { segment_index: String(index) };
  const path = `/2/media/upload/${encodeURIComponent(id)}/append`;
  const from = index * segmentBytes;
  const to = Math.min(from + segmentBytes, way.file.sizeBytes);
  const form = formOf(fields, 'media', 'media', contentOf(way.file, anyType, from, to));
  // The response is not needed, and was empty in older versions.
  await requestUpload(way, { path, file: form }, () => true);
}

/** An earlier attempt may have finalized without the response. X refuses a second time, so the state is read. */
async function finalize(way: Way, id: string, isOld: boolean): Promise<UploadAnswer> {
  const path = `/2/media/upload/${encodeURIComponent(id)}/finalize`;
  try {
    return await requestUpload(way, { path }, readUpload);
  } catch (error) {
    if (isOld && error instanceof UploadGone) {
      return readStatus(way, id);
    }
    throw error;
  }
}

const readStatus = (way: Way, id: string) => {
  const path = `/2/media/upload?command=STATUS&media_id=${encodeURIComponent(id)}`;
  return requestUpload(way, { method: 'GET', path }, readUpload);
};

/** The state of an upload from X's response. No processing state means that the file is ready. */
function withState({ connection, file }: Way, upload: XUpload, answer: UploadAnswer): XUpload {
  const { state, error } = answer.data.processing_info ?? {};
  if (state === 'failed') {
    const said = quote(error?.message ?? error?.name, [tokenOf(connection) ?? '']);
    const message = `X could not process the file "${file.name}"${said && `: ${said}`}.`;
    throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
  }

  return {
    ...upload,
    expiresAtMs: expiryOf(answer),
    state: isPending(answer) ? 'processing' : 'ready',
    stateSinceMs: Date.now(),
  };
}

const isPending = ({ data: { processing_info: info } }: UploadAnswer): boolean =>
  ![undefined, 'succeeded', 'failed'].includes(info?.state);

/** Lifetimes of a file: the default when X names none, and the maximum. X names a day after an upload, weeks before. */
const [unnamedExpirySecs, longestExpirySecs] = [60 * 60, 30 * 24 * 60 * 60];

const expiryOf = ({ data: { expires_after_secs: named } }: UploadAnswer): number =>
  Date.now() + Math.min(named ?? unnamedExpirySecs, longestExpirySecs) * 1000;

/** X takes about a minute for a video of 140 s. */
const patienceMs = 90_000;

const processed = (way: Way, { id }: XUpload): Promise<UploadAnswer> =>
  untilProcessed(
    { network: 'X', fileName: way.file.name, patienceMs, signal: way.connection.signal },
    async () => {
      const answer = await readStatus(way, id);
      const askInMs = (answer.data.processing_info?.check_after_secs ?? 1) * 1000;
      return isPending(answer) ? { askInMs } : { done: answer };
    },
  );

/** @throws UploadGone when X may not know the upload; NetworkError otherwise. */
async function requestUpload<T>(
  { connection, file: { name: fileName } }: Way,
  request: Omit<NetworkRequest, 'purpose' | 'method'> & Partial<Pick<NetworkRequest, 'method'>>,
  read: (value: unknown) => T | null,
): Promise<T> {
  const asked = { method: 'POST', ...request, purpose: 'upload', fileName } as const;
  const response = await call(connection, asked);
  if ([400, 404, 410].includes(response.status)) {
    throw new UploadGone(response.refusal());
  }
  return response.as(read);
}

const seconds = { type: 'number', minimum: 0 } as const;

const uploadSchema = having({
  data: having(
    { id: idSchema },
    {
      expires_after_secs: seconds,
      processing_info: mayHave({
        state: text,
        check_after_secs: seconds,
        /** Why it failed. Missing in X's document. */
        error: mayHave({ name: text, message: text }),
      }),
    },
  ),
});

type UploadAnswer = Value<typeof uploadSchema>;

const readUpload = answerReader(uploadSchema);
