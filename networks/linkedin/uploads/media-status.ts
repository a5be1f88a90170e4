import { setTimeout as sleep } from 'node:timers/promises';
import { answerReader, jsonOf } from '../../answer.ts';
import { NetworkError, type PartMedia } from '../../network.ts';
import { call, type Access } from '../client.ts';
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
 * What LinkedIn says of an uploaded file.
 *
 * @returns its status; `UNTOLD` where LinkedIn does not let this token read it, null when there is no such file.
 */
export async function statusOf(
  access: Access,
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
 * Waits until a post may use a file. Before that LinkedIn refuses the post, or takes it and never shows it.
 *
 * @returns whether LinkedIn showed the file's status.
 * @throws NetworkError `media_refused` when LinkedIn could not process it; `network_unavailable` when it still does after
 *   `timeoutMs`, or the try's time is up: the next try goes on waiting.
 */
export async function untilAvailable(
  access: Access,
  resource: Resource,
  urn: string,
  file: Named,
  timeoutMs: number,
): Promise<boolean> {
  const giveUpAtMs = Date.now() + timeoutMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    const status = await statusOf(access, resource, urn, file);
    if (status === 'AVAILABLE' || status === 'UNTOLD') {
      return status === 'AVAILABLE';
    }
    if (status === 'PROCESSING_FAILED') {
      const message = `LinkedIn could not process the file "${file.name}".`;
      throw new NetworkError('media_refused', message, { taken: 'no', server: 'answered' });
    }
    if (Date.now() > giveUpAtMs) {
      throw stillProcessing(file);
    }

    await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
      throw stillProcessing(file);
    });
  }
}

/** What a video takes at least, and for each million bytes, in milliseconds; and the longest wait for that. */
const blindWait = { leastMs: 10_000, perMegabyteMs: 1000, mostMs: 120_000 };

/**
 * Waits after the upload of a video whose status LinkedIn does not show to this app. Should that be too short, LinkedIn
 * refuses the post for now, and the next try names the same video.
 *
 * @throws NetworkError `network_unavailable` when the try's time is up before.
 */
export async function untilProbablyAvailable(access: Access, file: PartMedia): Promise<void> {
  const { leastMs, perMegabyteMs, mostMs } = blindWait;
  const waitMs = Math.min(leastMs + (file.sizeBytes / 1_000_000) * perMegabyteMs, mostMs);
  await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
    throw stillProcessing(file);
  });
}

const stillProcessing = ({ name }: Named): NetworkError =>
  new NetworkError('network_unavailable', `LinkedIn still works on the file "${name}".`, {
    taken: 'no',
    server: 'answered',
  });
