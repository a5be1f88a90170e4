import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressResponse, StreamedBody } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { fileBytes } from '../file-bytes.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import type { Access } from '../access-token.ts';
import { get, idSchema, refusal, sendFile, unreadable } from './client.ts';

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

/** Of a file that was uploaded; it has no URL while the server still works on it. */
const readAttachment = answerReader<{ readonly id: string }>({
  type: 'object',
  required: ['id'],
  properties: { id: idSchema },
});

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

/**
 * A form with the field `file`, and `description` for what is to be seen on it, written by hand so that it is sent as it
 * is read, with a length known before.
 *
 * The file's own name stays here: it may say more than its owner means to publish.
 *
 * Source: RFC 7578.
 */
function multipart(file: PartMedia): { type: string; body: StreamedBody } {
  const boundary = `punctual-${crypto.randomUUID()}`;
  const altText = file.altText?.trim() ?? '';
  const description =
    altText === ''
      ? ''
      : `--${boundary}\r\nContent-Disposition: form-data; name="description"\r\n\r\n${altText}\r\n`;
  const head = Buffer.from(
    `${description}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file.${endingOf(file.type)}"\r\n` +
      `Content-Type: ${file.type}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* form() {
    yield head;
    yield* fileBytes(file);
    yield tail;
  }

  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: {
      stream: Readable.from(form()),
      sizeBytes: head.length + file.sizeBytes + tail.length,
    },
  };
}

/** Servers that look at it expect the usual one. */
const endingOf = (type: string): string =>
  type === 'video/quicktime' ? 'mov' : (type.split('/')[1] ?? '').replaceAll(/[^a-z0-9]/gu, '');
