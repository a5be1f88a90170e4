import { isDeepStrictEqual } from 'node:util';
import type { Access } from '../client.ts';
import { NetworkError, type Connection, type PartMedia, type PreparedPart } from '../network.ts';
import { keptUpload } from '../uploads/resumable.ts';
import { sizesOf, isVideo } from '../validation/files.ts';
import { videoOf } from './metadata.ts';
import {
  chunkBytesOf,
  lastChunkStart,
  putChunk,
  startSession,
  type Progress,
  type UploadSession,
} from './upload-session.ts';
import type { Video } from './videos.ts';

/** How long an attempt sends, in milliseconds. The current chunk still ends within the attempt. */
const sendsForMs = 150_000;

/** How often a session may have fewer bytes than it was sent before the attempt ends. */
const mostSetbacks = 3;

export type Upload =
  | { readonly kind: 'waiting'; readonly session: UploadSession; readonly received: number }
  /** An earlier attempt sent all bytes, and its response was lost. */
  | { readonly kind: 'finished'; readonly video: Video };

/**
 * Uploads a video to YouTube except its last chunk, without which no video exists.
 *
 * The session's URI is stored before the first byte leaves, so that the next attempt can continue in any case.
 */
export async function uploadVideo(connection: Connection, part: PreparedPart): Promise<Upload> {
  const file = onlyVideo(part);
  const content = { video: videoOf(part), fileId: file.id, sizeBytes: file.sizeBytes };
  const kept = keptUpload<UploadSession>(connection, part, file);
  const way = { access: connection, file, keep: kept.keep };

  const known = kept.read();
  // A session for another video, or for metadata that changed between two attempts, is not used. The database returns
  // the fields of the metadata in another order.
  if (known && isDeepStrictEqual(known, { ...content, uri: known.uri })) {
    const progress = await putChunk(connection, known, 'upload');
    if (progress.kind !== 'gone') {
      return bring(way, known, progress);
    }
  }

  const uri = await startSession(connection, file, content.video);
  const session = { ...content, uri };
  await kept.keep(session);
  return bring(way, session, { kind: 'partial', received: 0 });
}

type Way = {
  readonly access: Access;
  readonly file: PartMedia;
  readonly keep: (session: UploadSession) => Promise<void>;
};

async function bring(
  { access, file, keep }: Way,
  begun: UploadSession,
  progressThen: Progress,
): Promise<Upload> {
  const endMs = Date.now() + sendsForMs;
  let [session, progress, chunks, setbacks] = [begun, progressThen, 0, 0];
  try {
    for (;;) {
      if (progress.kind === 'gone') {
        throw notNow('YouTube no longer has the upload that was begun.');
      }
      if (progress.kind === 'finished') {
        return progress;
      }

      const { received: from, uri = session.uri } = progress;
      if (uri !== session.uri) {
        session = Object.assign({}, session, { uri });
        await keep(session);
      }
      const end = lastChunkStart(file.sizeBytes, from);
      if (from >= end) {
        return { kind: 'waiting', session, received: from };
      }

      assertMayGoOn(file, from, setbacks, endMs);
      const to = Math.min(from + chunkBytesOf(file.sizeBytes), end);
      progress = await putChunk(access, session, 'upload', { file, from, to });
      const isComplete = progress.kind === 'partial' && progress.received === to;
      chunks += isComplete ? 1 : 0;
      setbacks += isComplete ? 0 : 1;
    }
  } catch (error) {
    throw error instanceof NetworkError && chunks > 0
      ? new NetworkError(error.code, error.message, {
          ...error,
          cause: error.cause,
          hasProgressed: true,
        })
      : error;
  }
}

function assertMayGoOn(file: PartMedia, received: number, setbacks: number, endMs: number): void {
  if (setbacks >= mostSetbacks) {
    throw notNow(`YouTube repeatedly lost bytes of the file "${file.name}".`);
  }
  if (Date.now() > endMs) {
    const [all, there] = sizesOf(file.sizeBytes, received);
    throw notNow(`YouTube has ${there} of ${all} of the file "${file.name}" so far.`);
  }
}

/**
 * Sends the bytes that the session lacks, which creates the video. A session creates at most one video, so a repeated
 * chunk creates no second one.
 */
export async function finishVideo(
  access: Access,
  part: PreparedPart,
  upload: Upload,
): Promise<Video> {
  if (upload.kind === 'finished') {
    return upload.video;
  }

  const file = onlyVideo(part);
  const { session, received: from } = upload;
  const rest = from < file.sizeBytes ? { file, from, to: file.sizeBytes } : undefined;
  const progress = await putChunk(access, session, 'create', rest);
  if (progress.kind === 'finished') {
    return progress.video;
  }
  if (progress.kind === 'gone') {
    // The session existed a moment ago. Only the channel's uploads show whether it created a video.
    throw notNow('YouTube no longer has the upload, which was almost complete.', 'unknown');
  }
  if (progress.received >= file.sizeBytes) {
    const message = `YouTube has the whole file "${file.name}", but does not report a video.`;
    throw notNow(message, 'unknown');
  }

  // The next attempt continues.
  const message = `YouTube did not accept the end of the file "${file.name}", so there is no video yet.`;
  throw notNow(message);
}

function onlyVideo({ media }: PreparedPart): PartMedia {
  const [file, ...others] = media;
  if (!file || !isVideo(file) || others.length > 0) {
    const message = 'A post for YouTube must have exactly 1 video and no other file.';
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  return file;
}

const notNow = (message: string, accepted: 'no' | 'unknown' = 'no'): NetworkError =>
  new NetworkError('network_unavailable', message, { accepted, server: 'answered' });
