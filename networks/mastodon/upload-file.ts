import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import { readAttachment } from './answers.ts';
import { get, sendFile, type Access } from './client.ts';
import { refusal, unreadable } from './errors.ts';
import { multipart } from './multipart.ts';

/** How long a server may work on a video after it has all of it. Together with the upload shorter than a try. */
const processingTimeoutMs = 120_000;
const firstWaitMs = 500;
const longestWaitMs = 5000;

/**
 * Brings one file to the server, and waits until a status may use it.
 *
 * The id is good for one status only (GoToSocial refuses a second) and for a while (Mastodon forgets it after some
 * hours), so it is never kept for another try.
 *
 * Source: https://docs.joinmastodon.org/methods/media/
 *
 * @returns the id that a status names it by.
 * @throws NetworkError `media_refused` when the server does not take the file, with `taken: 'no'` like all its errors.
 */
export async function uploadFile(access: Access, file: PartMedia): Promise<string> {
  const response = await sendFile(access, '/api/v2/media', multipart(file));
  const id = idIn(response, access, file);
  // 202: the server has it and still works on it.
  if (response.status === 202) {
    await untilReady(access, id, file);
  }
  return id;
}

async function untilReady(access: Access, id: string, file: PartMedia): Promise<void> {
  const giveUpAtMs = Date.now() + processingTimeoutMs;
  const path = `/api/v1/media/${encodeURIComponent(id)}`;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    await sleep(waitMs);
    const response = await get(access, path, 'upload');
    idIn(response, access, file);
    if (response.status === 200) {
      return;
    }

    if (Date.now() > giveUpAtMs) {
      const message = `The Mastodon server still works on the file "${file.name}".`;
      throw new NetworkError('network_unavailable', message, { taken: 'no' });
    }
  }
}

function idIn(response: EgressResponse, access: Access, { name }: PartMedia): string {
  if (![200, 202, 206].includes(response.status)) {
    const { accessToken } = access;
    throw refusal(response, { purpose: 'upload', accessToken, fileName: name });
  }

  const attachment = readAttachment(jsonOf(response));
  if (!attachment) {
    throw unreadable('upload');
  }
  return attachment.id;
}
