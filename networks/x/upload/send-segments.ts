import type { AppendFields, UploadAnswer } from '../wire.ts';
import { mediaForm } from './form.ts';
import type { KeptFile } from './kept-files.ts';
import { keepState, readUploadStatus } from './processing.ts';
import { readUpload, requestUpload, type Upload, UploadGone } from './request-upload.ts';
import { segmentsFrom, segmentsOf } from './segments.ts';

/**
 * Uploads the missing segments of a file and finalizes the upload. The state is stored after each segment, so a worker
 * that dies loses only the current one.
 *
 * @returns the file with all its segments at X.
 */
export async function sendSegments(upload: Upload, from: KeptFile): Promise<KeptFile> {
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
