import { fileBytes } from '../../file-bytes.ts';
import type { Connection, ThreadPart, PartMedia } from '../../network.ts';
import { hasType, isImage, isVideo } from '../../validation/files.ts';
import type { TokenAccess } from '../../access-token.ts';
import type { DescribeMedia, InitializeUpload, MediaCategory, UploadFields } from '../wire.ts';
import { mediaForm } from './form.ts';
import { type KeptFile, keptPlace } from './kept-files.ts';
import { awaitProcessing, expiryOf, keepState } from './processing.ts';
import { readUpload, requestUpload, type Upload, UploadGone } from './request-upload.ts';
import { sendSegments } from './send-segments.ts';

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

const categoryOf = (file: PartMedia): MediaCategory =>
  isVideo(file) ? 'tweet_video' : hasType('image/gif')(file) ? 'tweet_gif' : 'tweet_image';

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

function sendWhole(upload: Upload, fields: UploadFields) {
  const { file } = upload;
  const form = mediaForm({ ...fields }, fileBytes(file), file.sizeBytes);
  return requestUpload(upload, { method: 'POST', path: '/2/media/upload', file: form }, readUpload);
}

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

/** X charges for each call, so its success is stored. */
const describe = (upload: Upload, body: DescribeMedia): Promise<boolean> =>
  requestUpload(upload, { method: 'POST', path: '/2/media/metadata', body }, () => true);
