import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressResponse, StreamedBody } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { fileBytes } from '../file-bytes.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
import { get, idSchema, refusal, sendFile, unreadable } from './client.ts';

/** How long a server may process a video after the upload. Upload and wait must fit into one attempt. */
const processingTimeoutMs = 120_000;
const firstWaitMs = 500;
const longestWaitMs = 5000;

/**
 * Uploads one file to the server, and waits until a status may use it.
 *
 * The id is valid for one status only (GoToSocial refuses a second use) and for a limited time (hours on Mastodon), so
 * it is never stored for another attempt.
 *
 * Source: https://docs.joinmastodon.org/methods/media/
 *
 * @returns the file's id for a status.
 * @throws NetworkError with `accepted: 'no'`: `media_refused` when the server refuses the file.
 */
export async function uploadFile(access: TokenAccess, file: PartMedia): Promise<string> {
  const response = await sendFile(access, '/api/v2/media', multipart(file));
  const id = idIn(response, access, file);
  // 202: the server has the file and is still processing it.
  if (response.status === 202) {
    await untilReady(access, id, file);
  }
  return id;
}

async function untilReady(access: TokenAccess, id: string, file: PartMedia): Promise<void> {
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
      const message = `The Mastodon server is still processing the file "${file.name}".`;
      throw new NetworkError('network_unavailable', message, { accepted: 'no' });
    }
  }
}

/** Reads an uploaded file, which has no URL while the server is processing it. */
const readAttachment = answerReader<{ readonly id: string }>({
  type: 'object',
  required: ['id'],
  properties: { id: idSchema },
});

function idIn(response: EgressResponse, access: TokenAccess, { name }: PartMedia): string {
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
 * A form with the field `file` and the alt text as `description`. Built by hand, to stream the file with a length that
 * is known in advance.
 *
 * The file's own name is not sent, because it may reveal more than its owner wants to publish.
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

/** The usual file extension, which some servers check. */
const endingOf = (type: string): string =>
  type === 'video/quicktime' ? 'mov' : (type.split('/')[1] ?? '').replaceAll(/[^a-z0-9]/gu, '');
