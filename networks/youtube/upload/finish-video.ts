import { Readable } from 'node:stream';
import { NetworkError, type PartMedia, type PreparedPart } from '../../network.ts';
import type { Access } from '../../access-token.ts';
import type { Video } from '../videos.ts';
import { piecesOf } from './pieces.ts';
import { askSession, movedTo, putChunk, type Progress, type Session } from './session.ts';
import { onlyVideo, type Upload } from './upload-video.ts';

/** How often a session may ask for more of the last chunk. */
const mostChunks = 3;

/**
 * Sends what the session still lacks, and with it creates the video. A session makes one video at most, so that a
 * chunk which comes twice makes no second one.
 *
 * @throws NetworkError with `taken: 'no'` when the session says that it still lacks bytes, or refuses them.
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
  let { session, received } = upload;
  for (let chunks = 0; chunks < mostChunks; chunks += 1) {
    const progress = await sendRest(access, session, file, received);
    if (progress.kind === 'finished') {
      return progress.video;
    }

    if (progress.kind === 'gone') {
      // It was there a moment ago. Whether it ended with a video, only the channel's uploads can tell.
      throw notNow('YouTube no longer knows the upload that was to be ended.', 'unknown');
    }

    if (progress.received >= file.sizeBytes) {
      const message = `YouTube has all of the file "${file.name}", and does not say that it is a video.`;
      throw notNow(message, 'unknown');
    }

    if (progress.received <= received) {
      break;
    }
    ({ received } = progress);
    session = movedTo(session, progress.uri);
  }

  const message = `YouTube did not take the end of the file "${file.name}", so there is no video yet.`;
  throw notNow(message, 'no');
}

async function sendRest(
  access: Access,
  session: Session,
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

const notNow = (message: string, taken: 'no' | 'unknown'): NetworkError =>
  new NetworkError('network_unavailable', message, { taken, server: 'answered' });
