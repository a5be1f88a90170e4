import { Readable } from 'node:stream';
import type { Schemas } from '@xdevplatform/xdk';
import { type TokenAccess, fileBytes, type NetworkRequest } from '../http.ts';
import type { Connection, ThreadPart, PartMedia } from '../network.ts';
import { hasType, isImage, isVideo } from '../validation/files.ts';
import type { Wire } from './client.ts';
import {
  type KeptFile,
  keptPlace,
  awaitProcessing,
  expiryOf,
  keepState,
  readUploadStatus,
  readUpload,
  requestUpload,
  type Upload,
  type UploadAnswer,
  UploadGone,
} from './upload-state.ts';

/**
 * Uploads one file to X, with its alt text, and waits until a post may use it. Continues the upload of an earlier
 * attempt, or starts again when X no longer knows it.
 *
 * Sources: https://docs.x.com/x-api/media/introduction, X's OpenAPI document 2.167.
 *
 * @returns the file's id for a post.
 * @throws NetworkError with `accepted: 'no'`: `media_refused` when X refuses the file.
 */
export async function uploadFile(
  access: TokenAccess,
  connection: Connection,
  part: ThreadPart,
  file: PartMedia,
): Promise<string> {
  const place = keptPlace(connection, part, file);
  const fresh: Upload = { access, file, place, signal: connection.signal, isOld: false };
  if (place.earlier) {
    try {
      return await finish({ ...fresh, isOld: true }, place.earlier);
    } catch (error) {
      if (!(error instanceof UploadGone)) {
        throw error;
      }
    }
  }

  return finish(fresh, await begin(fresh));
}

/** Images go in one request. GIFs and videos first get an id, which is stored before the first byte leaves. */
async function begin(upload: Upload): Promise<KeptFile> {
  const { file, place } = upload;
  const category = categoryOf(file);
  const answer =
    category === 'tweet_image'
      ? await sendWhole(upload, { media_category: category })
      : await initialize(upload, {
          media_type: file.type as NonNullable<InitializeUpload['media_type']>,
          media_category: category,
          total_bytes: file.sizeBytes,
        });
  const kept: KeptFile = {
    file: file.id,
    id: answer.data.id,
    expiresAtMs: expiryOf(answer),
    segments: 0,
    state: 'uploading',
    stateSinceMs: Date.now(),
    isDescribed: false,
  };
  if (category === 'tweet_image') {
    return keepState(upload, kept, answer);
  }

  await place.keep(kept);
  return kept;
}

type MediaCategory = Schemas.MediaUploadRequest['mediaCategory'];

const categoryOf = (file: PartMedia): MediaCategory =>
  isVideo(file) ? 'tweet_video' : hasType('image/gif')(file) ? 'tweet_gif' : 'tweet_image';

/** The form fields of a whole file, beside its bytes. */
type UploadFields = Omit<Wire<Schemas.MediaUploadRequest>, 'media'>;

function sendWhole(upload: Upload, fields: UploadFields) {
  const { file } = upload;
  const form = mediaForm({ ...fields }, fileBytes(file), file.sizeBytes);
  return requestUpload(upload, { method: 'POST', path: '/2/media/upload', file: form }, readUpload);
}

type InitializeUpload = Wire<Schemas.InitializeMediaUploadRequest>;

const initialize = (upload: Upload, body: InitializeUpload) =>
  requestUpload(upload, { method: 'POST', path: '/2/media/upload/initialize', body }, readUpload);

async function finish(upload: Upload, from: KeptFile): Promise<string> {
  const sent = from.state === 'uploading' ? await sendSegments(upload, from) : from;
  const ready = await awaitProcessing(upload, sent);
  const { altText } = upload.file;
  if (altText && !ready.isDescribed && isImage(upload.file)) {
    await describe(upload, { id: ready.id, metadata: { alt_text: { text: altText } } });
    await upload.place.keep({ ...ready, isDescribed: true });
  }

  return ready.id;
}

type DescribeMedia = Wire<Schemas.CreateMediaMetadataRequest>;

/** X charges for each call, so its success is stored. */
const describe = (upload: Upload, body: DescribeMedia): Promise<boolean> =>
  requestUpload(upload, { method: 'POST', path: '/2/media/metadata', body }, () => true);

/**
 * Uploads the missing segments of a file and finalizes the upload. The state is stored after each segment, so a worker
 * that dies loses only the current one.
 *
 * @returns the file with all its segments at X.
 */
async function sendSegments(upload: Upload, from: KeptFile): Promise<KeptFile> {
  let { segments } = from;
  if (segments < segmentsOf(upload.file)) {
    for await (const segment of segmentsFrom(upload.file, segments)) {
      await append(upload, from.id, segments, segment);
      segments += 1;
      await upload.place.keep({ ...from, segments });
    }
  }

  const kept = { ...from, segments };
  return keepState(upload, kept, await finalize(upload, kept));
}

/** The form fields of a segment, beside its bytes. Numbers are text in a form. */
type AppendFields = Record<keyof Omit<Wire<Schemas.AppendMediaUploadRequest>, 'media'>, string>;

async function append(upload: Upload, id: string, index: number, segment: Buffer): Promise<void> {
  const fields: AppendFields = { segment_index: String(index) };
  const path = `/2/media/upload/${encodeURIComponent(id)}/append`;
  const file = mediaForm(fields, [segment], segment.length);
  // The response is not needed, and was empty in older versions.
  await requestUpload(upload, { method: 'POST', path, file }, () => true);
}

/**
 * An earlier attempt may have finalized without getting the response. X refuses a second time, so the state is read.
 */
async function finalize(upload: Upload, kept: KeptFile): Promise<UploadAnswer> {
  const path = `/2/media/upload/${encodeURIComponent(kept.id)}/finalize`;
  try {
    return await requestUpload(upload, { method: 'POST', path }, readUpload);
  } catch (error) {
    if (error instanceof UploadGone) {
      return readUploadStatus(upload, kept);
    }
    throw error;
  }
}

/** X accepts up to 5 MB per request and up to 1000 segments; 512 MB are 128 of these. */
export const segmentBytes = 4 * 1024 * 1024;

const segmentsOf = ({ sizeBytes }: PartMedia): number => Math.ceil(sizeBytes / segmentBytes);

/**
 * The segments of a file, in order, with one in memory at a time.
 *
 * @param first Index of the first segment, below their number.
 * @throws NetworkError as `fileBytes`, before the last segment is returned.
 */
async function* segmentsFrom(file: PartMedia, first: number): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of fileBytes(file, first * segmentBytes)) {
    let rest = piece;
    while (length + rest.length > segmentBytes) {
      yield Buffer.concat([...pieces, rest.subarray(0, segmentBytes - length)]);
      rest = rest.subarray(segmentBytes - length);
      pieces = [];
      length = 0;
    }

    pieces.push(rest);
    length += rest.length;
  }

  yield Buffer.concat(pieces);
}

/**
 * A form with fields and one part `media`, built by hand, to stream the file with a length that is known in advance.
 * The file's own name is not sent, because it may reveal more than its owner wants to publish.
 *
 * Source: RFC 7578.
 *
 * @param bytes Exactly `sizeBytes` of them.
 */
function mediaForm(
  fields: Readonly<Record<string, string>>,
  bytes: AsyncIterable<Buffer> | readonly Buffer[],
  sizeBytes: number,
): NonNullable<NetworkRequest['file']> {
  const boundary = `punctual-${crypto.randomUUID()}`;
  const named = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = Buffer.from(
    `${named.join('')}--${boundary}\r\nContent-Disposition: form-data; name="media"; filename="media"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* form() {
    yield head;
    yield* bytes;
    yield tail;
  }

  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: { stream: Readable.from(form()), sizeBytes: head.length + sizeBytes + tail.length },
  };
}
