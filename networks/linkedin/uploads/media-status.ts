import { setTimeout as sleep } from 'node:timers/promises';
import { answerReader, jsonOf } from '../../answer.ts';
import { NetworkError, type PartMedia } from '../../network.ts';
import { call, type LinkedinAccess } from '../client.ts';
import { refusal, unreadable } from '../refusal.ts';

const firstWaitMs = 500;
const longestWaitMs = 5000;

export type Resource = 'images' | 'videos';

type Named = Pick<PartMedia, 'name'>;

/** `WAITING_UPLOAD`, `PROCESSING`, `PROCESSING_FAILED`, `AVAILABLE`; LinkedIn may add others. */
const readStatus = answerReader<{ readonly status: string }>({
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string' } },
});

/**
 * Reads LinkedIn's status of an uploaded file.
 *
 * @returns its status; `UNTOLD` when this token may not read it, null when there is no such file.
 */
export async function mediaStatusOf(
  access: LinkedinAccess,
  resource: Resource,
  urn: string,
  { name: fileName }: Named,
): Promise<string | null> {
  const path = `/rest/${resource}/${encodeURIComponent(urn)}`;
  const response = await call(access, { method: 'GET', path, purpose: 'upload' });
  if (response.status === 403) {
    return 'UNTOLD';
  }
  if (response.status === 404) {
    return null;
  }
  if (response.status !== 200) {
    throw refusal(response, { ...access, purpose: 'upload', fileName });
  }

  const known = readStatus(jsonOf(response));
  if (!known) {
    throw unreadable('upload');
  }
  return known.status;
}

/**
 * Waits until a post may use a file. Earlier, LinkedIn refuses the post, or accepts it and never shows it.
 *
 * @returns whether LinkedIn showed the file's status.
 * @throws NetworkError `media_refused` when LinkedIn could not process the file; `network_unavailable` when it is still
 *   processing after `timeoutMs` or at the end of the attempt. The next attempt continues to wait.
 */
export async function untilAvailable(
  access: LinkedinAccess,
  resource: Resource,
  urn: string,
  file: Named,
  timeoutMs: number,
): Promise<boolean> {
  const giveUpAtMs = Date.now() + timeoutMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    const status = await mediaStatusOf(access, resource, urn, file);
    if (status === 'AVAILABLE' || status === 'UNTOLD') {
      return status === 'AVAILABLE';
    }
    if (status === 'PROCESSING_FAILED') {
      const message = `LinkedIn could not process the file "${file.name}".`;
      throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
    }
    if (Date.now() > giveUpAtMs) {
      throw stillProcessing(file);
    }

    await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
      throw stillProcessing(file);
    });
  }
}

/** Wait for a video: the minimum, the time per million bytes, and the maximum, in milliseconds. */
const blindWait = { leastMs: 10_000, perMegabyteMs: 1000, mostMs: 120_000 };

/**
 * Waits after the upload of a video whose status this app may not read. If the wait is too short, LinkedIn refuses the
 * post temporarily, and the next attempt uses the same video.
 *
 * @throws NetworkError `network_unavailable` when the attempt ends during the wait.
 */
export async function untilProbablyAvailable(
  access: LinkedinAccess,
  file: PartMedia,
): Promise<void> {
  const { leastMs, perMegabyteMs, mostMs } = blindWait;
  const waitMs = Math.min(leastMs + (file.sizeBytes / 1_000_000) * perMegabyteMs, mostMs);
  await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
    throw stillProcessing(file);
  });
}

const stillProcessing = ({ name }: Named): NetworkError =>
  new NetworkError('network_unavailable', `LinkedIn is still processing the file "${name}".`, {
    accepted: 'no',
    server: 'answered',
  });
