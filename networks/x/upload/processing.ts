import { setTimeout as sleep } from 'node:timers/promises';
import { quote } from '../../answer.ts';
import { NetworkError } from '../../network.ts';
import type { UploadAnswer } from '../wire.ts';
import type { KeptFile } from './kept-files.ts';
import { readUpload, requestUpload, type Upload } from './request-upload.ts';

/**
 * How long an attempt waits for a video. X takes about a minute for one of 140 s. The next attempt continues to wait.
 */
const waitsForMs = 90_000;
/** Bounds of the wait between two checks. A wait that exceeds the attempt's time ends the attempt. */
const [shortestMs, longestMs] = [250, 10 * 60_000];

/** Lifetimes of a file: the default when X names none, and the maximum. X names a day after an upload, weeks before. */
const [unnamedExpirySecs, longestExpirySecs] = [60 * 60, 30 * 24 * 60 * 60];

/** When X deletes a file, in milliseconds since 1970. */
export const expiryOf = ({ data: { expires_after_secs: named } }: UploadAnswer): number =>
  Date.now() + Math.min(named ?? unnamedExpirySecs, longestExpirySecs) * 1000;

/**
 * Stores the state of an uploaded file from X's response. No processing state means that the file is ready.
 *
 * @throws NetworkError `media_refused` when X could not process it.
 */
export async function keepState(
  { file, place, access }: Upload,
  kept: KeptFile,
  answer: UploadAnswer,
): Promise<KeptFile> {
  const { state, error } = answer.data.processing_info ?? {};
  if (state === 'failed') {
    const said = quote(error?.message ?? error?.name, [access.accessToken]);
    const message = `X could not process the file "${file.name}"${said && `: ${said}`}.`;
    throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
  }

  const fresh: KeptFile = {
    ...kept,
    expiresAtMs: expiryOf(answer),
    state: state === undefined || state === 'succeeded' ? 'ready' : 'processing',
    stateSinceMs: Date.now(),
  };
  if (fresh.state !== kept.state) {
    await place.keep(fresh);
  }
  return fresh;
}

/** Reads the state of a file that X may still be processing. */
export const readUploadStatus = (upload: Upload, { id }: KeptFile): Promise<UploadAnswer> => {
  const path = `/2/media/upload?command=STATUS&media_id=${encodeURIComponent(id)}`;
  return requestUpload(upload, { method: 'GET', path }, readUpload);
};

/**
 * Waits until X has processed a file.
 *
 * @throws NetworkError `network_unavailable` when that exceeds the attempt's time; the next attempt continues to wait.
 */
export async function awaitProcessing(upload: Upload, from: KeptFile): Promise<KeptFile> {
  const giveUpAtMs = Date.now() + waitsForMs;
  let kept = from;
  while (kept.state === 'processing') {
    const answer = await readUploadStatus(upload, kept);
    kept = await keepState(upload, kept, answer);
    if (kept.state === 'processing') {
      const waitMs = waitOf(answer);
      if (Date.now() + waitMs > giveUpAtMs || !(await slept(waitMs, upload.signal))) {
        throw stillWorking(upload, Date.now() + waitMs);
      }
    }
  }

  return kept;
}

const waitOf = ({ data: { processing_info: info } }: UploadAnswer): number =>
  Math.min(Math.max((info?.check_after_secs ?? 1) * 1000, shortestMs), longestMs);

const stillWorking = ({ file }: Upload, retryAtMs: number): NetworkError =>
  new NetworkError('network_unavailable', `X is still processing the file "${file.name}".`, {
    accepted: 'no',
    retryAtMs,
    server: 'answered',
  });

/** @returns false when the attempt ended during the wait. */
const slept = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
