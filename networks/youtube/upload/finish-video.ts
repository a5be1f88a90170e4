import { Readable } from 'node:stream';
import { NetworkError, type PartMedia, type PreparedPart } from '../../network.ts';
import type { TokenAccess } from '../../access-token.ts';
import type { Video } from '../videos.ts';
import { piecesOf } from './pieces.ts';
import { askSession, movedTo, putChunk, type Progress, type UploadSession } from './session.ts';
import { onlyVideo, type Upload } from './upload-video.ts';

/** How often a session may request more of the last chunk. */
const mostChunks = 3;

/**
 * Sends the bytes that the session lacks, which creates the video. A session creates at most one video, so a repeated
 * chunk creates no second one.
 *
 * @throws NetworkError with `accepted: 'no'` when the session still lacks bytes, or refuses them.
 */
export async function finishVideo(
  access: TokenAccess,
  part: PreparedPart,
  upload: Upload,
): Promise<Video> {
  if (upload.kind === 'finished') {
    return upload.video;
  }

  const file = onlyVideo(part);
  let { session, received } = upload;
  for (let chunks = 0; chunks < mostChunks; chunks += 1) {
    const progress = await sendRest(access, session, file, received);
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

    if (progress.received <= received) {
      break;
    }
    ({ received } = progress);
    session = movedTo(session, progress.uri);
  }

  const message = `YouTube did not accept the end of the file "${file.name}", so there is no video yet.`;
  throw notNow(message, 'no');
}

async function sendRest(
  access: TokenAccess,
  session: UploadSession,
  file: PartMedia,
  from: number,
): Promise<Progress> {
  const to = file.sizeBytes;
  if (from >= to) {
    return askSession(access, session, 'create');
  }

  const pieces = piecesOf(file, from);
  try {
    const stream = Readable.from(pieces.rest(), { objectMode: false });
    return await putChunk(access, session, { from, to, stream }, 'create');
  } finally {
    await pieces.close();
  }
}

const notNow = (message: string, accepted: 'no' | 'unknown'): NetworkError =>
  new NetworkError('network_unavailable', message, { accepted, server: 'answered' });
