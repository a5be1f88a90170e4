import type { AppendFields, UploadAnswer } from '../wire.ts';
import { mediaForm } from './form.ts';
import type { KeptFile } from './kept-files.ts';
import { keepState, lookAt } from './processing.ts';
import { readUpload, requestUpload, type Upload, UploadGone } from './request-upload.ts';
import { segmentsFrom, segmentsOf } from './segments.ts';

/**
 * Brings the segments of a file that X does not have yet, each kept as it arrives, and tells X that it has all. A worker
 * that dies in between costs the segment that was on its way.
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
  // Its answer says nothing that is needed, and was empty in older versions.
  await requestUpload(upload, { method: 'POST', path, file }, () => true);
}

/** An earlier try may have said so already, and not have heard the answer: X refuses to hear it twice. */
async function finalize(upload: Upload, kept: KeptFile): Promise<UploadAnswer> {
  const path = `/2/media/upload/${encodeURIComponent(kept.id)}/finalize`;
  try {
    return await requestUpload(upload, { method: 'POST', path }, readUpload);
  } catch (error) {
    if (error instanceof UploadGone) {
      return lookAt(upload, kept);
    }
    throw error;
  }
}
