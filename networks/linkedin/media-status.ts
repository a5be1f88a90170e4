import { having, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import { untilProcessed } from '../uploads/processing.ts';
import { UploadGone } from '../uploads/resumable.ts';
import { get, unreadable, type LinkedinAccess } from './client.ts';

export type UploadedMedia = {
  readonly resource: 'images' | 'videos';
  readonly urn: string;
  readonly fileName: string;
};

/** `WAITING_UPLOAD`, `PROCESSING`, `PROCESSING_FAILED`, `AVAILABLE`; LinkedIn may add others. */
const readStatus = answerReader(having({ status: text }));

/** @returns its status; `UNTOLD` when this token may not read it, null when there is no such file. */
export async function mediaStatusOf(
  access: LinkedinAccess,
  { resource, urn, fileName }: UploadedMedia,
): Promise<string | null> {
  const path = `/rest/${resource}/${encodeURIComponent(urn)}`;
  const response = await get(access, path, 'upload', { fileName });
  if (response.status === 403) {
    return 'UNTOLD';
  }
  if (response.status === 404) {
    return null;
  }
  return response.as(readStatus).status;
}

type Waiting = {
  readonly patienceMs: number;
  /** When the file counts as processed if this app may not read its status, in milliseconds since 1970. */
  readonly untoldUntilMs?: number;
  /** Whether LinkedIn had the file in an earlier attempt, so that it should know it. */
  readonly isOld?: boolean;
};

/**
 * @throws UploadGone when LinkedIn no longer has an old file. NetworkError `media_refused` when LinkedIn could not
 *   process it, and as `untilProcessed`.
 */
export const untilAvailable = (
  access: LinkedinAccess,
  media: UploadedMedia,
  { patienceMs, untoldUntilMs = 0, isOld = false }: Waiting,
): Promise<true> => {
  const { fileName } = media;
  const waiting = { network: 'LinkedIn', fileName, patienceMs, signal: access.signal };
  return untilProcessed(waiting, async () => {
    const status = await mediaStatusOf(access, media);
    if (status === 'PROCESSING_FAILED') {
      const message = `LinkedIn could not process the file "${fileName}".`;
      throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
    }
    if (status === null && isOld) {
      throw new UploadGone(unreadable('upload'));
    }
    if (status === 'UNTOLD' && Date.now() < untoldUntilMs) {
      return { askInMs: untoldUntilMs - Date.now() };
    }
    return status === 'AVAILABLE' || status === 'UNTOLD' ? { done: true } : {};
  });
};

/** Wait for a video: the minimum, the time per million bytes, and the maximum, in milliseconds. */
const blindWait = { leastMs: 10_000, perMegabyteMs: 1000, mostMs: 120_000 };

/**
 * How long to wait after the upload of a video whose status this app may not read, in milliseconds. If the wait is too
 * short, LinkedIn refuses the post temporarily, and the next attempt uses the same video.
 */
export const blindWaitMs = ({ sizeBytes }: PartMedia): number =>
  Math.min(blindWait.leastMs + (sizeBytes / 1_000_000) * blindWait.perMegabyteMs, blindWait.mostMs);
