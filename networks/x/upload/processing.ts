import { setTimeout as sleep } from 'node:timers/promises';
import { quote } from '../../answer.ts';
import { NetworkError } from '../../network.ts';
import type { UploadAnswer } from '../wire.ts';
import type { KeptFile } from './kept-files.ts';
import { readUpload, requestUpload, type Upload } from './request-upload.ts';

/** How long a try waits for a video; X works on one of 140 s for about a minute. The next try goes on waiting. */
const waitsForMs = 90_000;
/** Between two looks, whatever X says. A time that a try does not have ends the try. */
const [shortestMs, longestMs] = [250, 10 * 60_000];

/** X names a day for a file that is there, and weeks for one that is not. Of one without a time less is trusted. */
const [unnamedExpirySecs, longestExpirySecs] = [60 * 60, 30 * 24 * 60 * 60];

/** Until when X has a file, in milliseconds since 1970. */
export const expiryOf = ({ data: { expires_after_secs: named } }: UploadAnswer): number =>
  Date.now() + Math.min(named ?? unnamedExpirySecs, longestExpirySecs) * 1000;

/**
 * What is kept of a file that X has all of, by what X says of its processing; nothing said is nothing to do.
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
    throw new NetworkError('media_refused', message, { taken: 'no', server: 'answered' });
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

/** One look at a file that X works on, or may work on. */
export const lookAt = (upload: Upload, { id }: KeptFile): Promise<UploadAnswer> => {
  const path = `/2/media/upload?command=STATUS&media_id=${encodeURIComponent(id)}`;
  return requestUpload(upload, { method: 'GET', path }, readUpload);
};

/**
 * Waits until X has processed a file.
 *
 * @throws NetworkError `network_unavailable` when that takes longer than a try has: the next one goes on waiting.
 */
export async function awaitProcessing(upload: Upload, from: KeptFile): Promise<KeptFile> {
  const giveUpAtMs = Date.now() + waitsForMs;
  let kept = from;
  while (kept.state === 'processing') {
    const answer = await lookAt(upload, kept);
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
  new NetworkError('network_unavailable', `X still works on the file "${file.name}".`, {
    taken: 'no',
    retryAtMs,
    server: 'answered',
  });

/** @returns false when the try ended meanwhile. */
const slept = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
