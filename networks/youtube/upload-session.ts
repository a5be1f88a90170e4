import type { youtube_v3 } from '@googleapis/youtube';
import { jsonOf } from '../answer.ts';
import type { Access } from '../client.ts';
import { acceptedAfter, type Purpose } from '../http.ts';
import { NetworkError, type PartMedia } from '../network.ts';
import { contentOf } from '../uploads/file-bytes.ts';
import { call, type YoutubeAnswer } from './client.ts';
import { parseVideo, type Video } from './videos.ts';

/**
 * A resumable upload. A session accepts the bytes of one video, and creates at most one video after the last byte. Its
 * URI gives access to its progress and its result.
 *
 * Source: https://developers.google.com/youtube/v3/guides/using_resumable_upload_protocol
 */
export type UploadSession = {
  readonly uri: string;
  readonly sizeBytes: number;
  readonly fileId: string;
  readonly video: youtube_v3.Schema$Video;
};

export type Progress =
  /** The session has `received` bytes from the beginning. @param uri Its new URI, if it changed. */
  | { readonly kind: 'partial'; readonly received: number; readonly uri?: string }
  | { readonly kind: 'finished'; readonly video: Video }
  /** YouTube does not know the session, or no longer. */
  | { readonly kind: 'gone' };

/** Starts a session, which creates no video yet. Costs one of the project's uploads of the day. */
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
    about: 'video',
  });
  if (response.status !== 200) {
    throw response.refusal();
  }

  const { location } = response.headers;
  if (location === undefined) {
    throw response.unreadable();
  }
  return ownAddress(access, location, 'upload');
}

type Chunk = { readonly file: PartMedia; readonly from: number; readonly to: number };

/**
 * Sends a chunk to a session and reads its progress. Without a chunk it only reads.
 *
 * @param purpose `create` for the chunk with the last byte, which creates the video, and for a session with all bytes,
 *   which may create it only now.
 */
export async function putChunk(
  access: Access,
  { uri, sizeBytes }: UploadSession,
  purpose: Purpose,
  chunk?: Chunk,
): Promise<Progress> {
  const range = chunk ? `${chunk.from}-${chunk.to - 1}` : '*';
  const response = await call(access, {
    method: 'PUT',
    path: uri,
    headers: { 'content-range': `bytes ${range}/${sizeBytes}` },
    ...(chunk && { file: contentOf(chunk.file, chunk.file.type, chunk.from, chunk.to) }),
    purpose,
    about: 'video',
  });
  return progressIn(access, response, sizeBytes, purpose);
}

function progressIn(
  access: Access,
  response: YoutubeAnswer,
  sizeBytes: number,
  purpose: Purpose,
): Progress {
  const { status, headers } = response;
  if (status === 404 || status === 410) {
    return { kind: 'gone' };
  }

  if (status === 200 || status === 201) {
    const video = parseVideo(jsonOf(response));
    if (!video) {
      throw response.unreadable();
    }
    return { kind: 'finished', video };
  }

  if (status !== 308) {
    throw response.refusal();
  }

  const received = receivedIn(headers['range']);
  if (received === null || received > sizeBytes) {
    throw response.unreadable();
  }

  const { location } = headers;
  return {
    kind: 'partial',
    received,
    ...(location !== undefined && { uri: ownAddress(access, location, purpose) }),
  };
}

/** A session without bytes sends no range. */
function receivedIn(range: string | undefined): number | null {
  if (range === undefined) {
    return 0;
  }

  const last = /^bytes=0-(?<last>\d{1,15})$/u.exec(range)?.groups?.['last'];
  return last === undefined ? null : Number(last) + 1;
}

/** Checks that a session's URI is on the server's own hosts, because the token is sent there. */
function ownAddress({ baseUrl }: Access, location: string, purpose: Purpose): string {
  const [own, given] = [new URL(baseUrl), URL.parse(location, baseUrl)];
  const areGoogles = [own, given].every(
    (url) => url?.protocol === 'https:' && url.hostname.endsWith('.googleapis.com'),
  );
  if (given && (given.origin === own.origin || areGoogles)) {
    return given.href;
  }

  const message = 'YouTube gave an upload URL that is not its own.';
  throw new NetworkError('network_unavailable', message, {
    accepted: acceptedAfter(purpose, false),
    server: 'answered',
  });
}

/** All chunks of a session except the last are multiples of this. */
const unitBytes = 256 * 1024;

const mostChunkBytes = 32 * unitBytes;

/**
 * Where the last chunk of a file begins. It is small, so that the request that creates the video is short.
 * @returns `from` plus a multiple of 256 KiB, below the file's size.
 */
export const lastChunkStart = (sizeBytes: number, from: number): number =>
  from + Math.floor(Math.max(0, sizeBytes - 1 - from) / unitBytes) * unitBytes;

/** The other chunks: about a thirtieth of the file, so that a broken one costs little, and at most 8 MiB. */
export const chunkBytesOf = (sizeBytes: number): number =>
  Math.min(Math.max(Math.floor(sizeBytes / 32 / unitBytes), 1) * unitBytes, mostChunkBytes);
