import type { youtube_v3 } from '@googleapis/youtube';
import type { EgressResponse, StreamedBody } from '../../../runtime/egress/egress.ts';
import { jsonOf } from '../../answer.ts';
import { NetworkError, type PartMedia } from '../../network.ts';
import { takenAfter, type Purpose } from '../../send-request.ts';
import type { Access } from '../../access-token.ts';
import { call } from '../client.ts';
import { refusal, unreadable } from '../refusals.ts';
import { readVideo, type Video } from '../videos.ts';

/**
 * An upload that can be resumed. A session takes the bytes of one video, and makes at most one video of them, once it has
 * the last: whoever holds its address can ask how far it is, or what became of it.
 *
 * Source: https://developers.google.com/youtube/v3/guides/using_resumable_upload_protocol
 */
export type Session = {
  readonly uri: string;
  /** Of the whole video. */
  readonly sizeBytes: number;
  /** MIME type. */
  readonly type: string;
};

/** The same session at another address, where YouTube gave it one. */
export const movedTo = (session: Session, uri: string | undefined): Session =>
  uri === undefined ? session : { ...session, uri };

export type Progress =
  /** It has so many bytes from the beginning on. @param uri Its address from now on, where that is another. */
  | { readonly kind: 'partial'; readonly received: number; readonly uri?: string }
  | { readonly kind: 'finished'; readonly video: Video }
  /** YouTube does not know it, or no longer. */
  | { readonly kind: 'gone' };

/** Begins a session. No video comes of it by itself. Costs one of the project's uploads of the day. */
export async function startSession(
  access: Access,
  file: Pick<PartMedia, 'sizeBytes' | 'type'>,
  video: youtube_v3.Schema$Video,
): Promise<string> {
  const response = await call(access, {
    method: 'POST',
    path: '/upload/youtube/v3/videos?uploadType=resumable&part=snippet%2Cstatus',
    headers: {
      'x-upload-content-length': String(file.sizeBytes),
      'x-upload-content-type': file.type,
    },
    body: video,
    purpose: 'upload',
  });
  if (response.status !== 200) {
    throw refusal(response, {
      purpose: 'upload',
      accessToken: access.accessToken,
      about: 'video',
    });
  }

  const { location } = response.headers;
  if (location === undefined) {
    throw unreadable('upload');
  }
  return ownAddress(access, location, 'upload');
}

/**
 * Asks a session how far it is. Sends none of the file.
 *
 * @param purpose `create` where it has all, and may end with a video only now.
 */
export async function askSession(
  access: Access,
  { uri, sizeBytes }: Session,
  purpose: Purpose,
): Promise<Progress> {
  const response = await call(access, {
    method: 'PUT',
    path: uri,
    headers: { 'content-range': `bytes */${sizeBytes}` },
    purpose,
  });
  return progressIn(access, response, sizeBytes, purpose);
}

/** Bytes of a file from one on up to another, which is not one of them. */
export type Chunk = {
  readonly from: number;
  readonly to: number;
  readonly stream: StreamedBody['stream'];
};

/** @param purpose `create` for the chunk with the last byte: a video comes of it. */
export async function putChunk(
  access: Access,
  { uri, sizeBytes, type }: Session,
  { from, to, stream }: Chunk,
  purpose: 'upload' | 'create',
): Promise<Progress> {
  const response = await call(access, {
    method: 'PUT',
    path: uri,
    headers: { 'content-range': `bytes ${from}-${to - 1}/${sizeBytes}` },
    file: { type, body: { stream, sizeBytes: to - from } },
    purpose,
  });
  return progressIn(access, response, sizeBytes, purpose);
}

function progressIn(
  access: Access,
  response: EgressResponse,
  sizeBytes: number,
  purpose: Purpose,
): Progress {
  const { status, headers } = response;
  if (status === 404 || status === 410) {
    return { kind: 'gone' };
  }

  if (status === 200 || status === 201) {
    const video = readVideo(jsonOf(response));
    if (!video) {
      throw unreadable(purpose);
    }
    return { kind: 'finished', video };
  }

  if (status !== 308) {
    throw refusal(response, { purpose, accessToken: access.accessToken, about: 'video' });
  }

  const received = receivedIn(headers['range']);
  if (received === null || received > sizeBytes) {
    throw unreadable(purpose);
  }

  const { location } = headers;
  return {
    kind: 'partial',
    received,
    ...(location !== undefined && { uri: ownAddress(access, location, purpose) }),
  };
}

/** A session that has nothing yet says nothing. */
function receivedIn(range: string | undefined): number | null {
  if (range === undefined) {
    return 0;
  }

  const last = /^bytes=0-(?<last>\d{1,15})$/u.exec(range)?.groups?.['last'];
  return last === undefined ? null : Number(last) + 1;
}

/**
 * The address of a session, where it is one of the server's own: the token goes there.
 *
 * @throws NetworkError when it is not.
 */
function ownAddress({ server: { baseUrl } }: Access, location: string, purpose: Purpose): string {
  const [own, given] = [new URL(baseUrl), URL.parse(location, baseUrl)];
  const areGoogles = [own, given].every(
    (url) => url?.protocol === 'https:' && url.hostname.endsWith('.googleapis.com'),
  );
  if (given && (given.origin === own.origin || areGoogles)) {
    return given.href;
  }

  const message = 'YouTube named an address for the upload that is not its own.';
  throw new NetworkError('network_unavailable', message, {
    taken: takenAfter(purpose, false),
    server: 'answered',
  });
}
