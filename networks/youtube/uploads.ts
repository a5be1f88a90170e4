import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { answerReader } from '../answer.ts';
import type { TokenAccess } from '../http.ts';
import { NetworkError, type Connection, type PartMedia, type PreparedPart } from '../network.ts';
import { sizesOf, isVideo } from '../validation/files.ts';
import { videoOf } from './metadata.ts';
import {
  chunkBytesOf,
  lastChunkStart,
  piecesOf,
  askSession,
  movedTo,
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

/** The stored state of a session for the next attempt. */
type Kept = UploadSession & {
  /** Identifies the video that the session was started for. */
  readonly fingerprint: string;
};

const readKept = answerReader<Kept>({
  type: 'object',
  required: ['uri', 'sizeBytes', 'type', 'fingerprint'],
  properties: {
    uri: { type: 'string', pattern: '^https?://' },
    sizeBytes: { type: 'integer', minimum: 0 },
    type: { type: 'string' },
    fingerprint: { type: 'string' },
  },
});

/** The stored session of a part's upload, or null. */
export const keptSession = (connection: Connection, part: PreparedPart): UploadSession | null =>
  readKept(connection.uploadsOf(part));

/** The state of a video's upload before its last chunk. */
export type Upload =
  | { readonly kind: 'waiting'; readonly session: UploadSession; readonly received: number }
  /** An earlier attempt sent all bytes, and its response was lost. */
  | { readonly kind: 'finished'; readonly video: Video };

/**
 * Uploads a video to YouTube except its last chunk, without which no video exists.
 *
 * The session's URI is stored before the first byte leaves, so that the next attempt can continue in any case.
 */
export async function uploadVideo(
  connection: Connection,
  access: TokenAccess,
  part: PreparedPart,
): Promise<Upload> {
  const file = onlyVideo(part);
  const resource = videoOf(part);
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([resource, file.id, file.sizeBytes]))
    .digest('hex');
  const keep = (session: UploadSession) =>
    connection.saveUploads(part, { ...session, fingerprint });

  const kept = readKept(connection.uploadsOf(part));
  // A session for another video, or for metadata that changed between two attempts, is not used.
  if (kept?.fingerprint === fingerprint) {
    const { fingerprint: _, ...session } = kept;
    const progress = await askSession(access, session, 'upload');
    if (progress.kind !== 'gone') {
      return bring({ access, file, keep }, session, progress);
    }
  }

  const { sizeBytes, type } = file;
  const session = { uri: await startSession(access, file, resource), sizeBytes, type };
  await keep(session);
  return bring({ access, file, keep }, session, { kind: 'partial', received: 0 });
}

type Way = {
  readonly access: TokenAccess;
  readonly file: PartMedia;
  /** Stores a session whose URI has changed. */
  readonly keep: (session: UploadSession) => Promise<void>;
};

/** @throws NetworkError that says whether YouTube has more of the file than before. */
async function bring(way: Way, begun: UploadSession, progressThen: Progress): Promise<Upload> {
  const reached = { chunks: 0 };
  try {
    return await bringRest(way, begun, progressThen, reached);
  } catch (error) {
    if (!(error instanceof NetworkError) || reached.chunks === 0) {
      throw error;
    }

    const { code, message, accepted, retryAtMs, limit, server, cause } = error;
    const known = { accepted, retryAtMs, limit, cause, ...(server && { server }) };
    throw new NetworkError(code, message, { ...known, hasProgressed: true });
  }
}

/** How many chunks YouTube accepted in this attempt. */
type Reached = { chunks: number };

async function bringRest(
  { access, file, keep }: Way,
  begun: UploadSession,
  progressThen: Progress,
  reached: Reached,
): Promise<Upload> {
  const endMs = Date.now() + sendsForMs;
  let [session, progress, setbacks] = [begun, progressThen, 0];
  for (;;) {
    if (progress.kind === 'gone') {
      throw notNow('YouTube no longer has the upload that was begun.');
    }
    if (progress.kind === 'finished') {
      return progress;
    }

    const { received, uri = session.uri } = progress;
    if (uri !== session.uri) {
      session = movedTo(session, uri);
      await keep(session);
    }
    const end = lastChunkStart(file.sizeBytes, received);
    if (received >= end) {
      return { kind: 'waiting', session, received };
    }

    const sent = await sendFrom(access, session, file, { received, end, endMs, reached });
    setbacks += sent.isComplete ? 0 : 1;
    if (setbacks >= mostSetbacks) {
      throw notNow(`YouTube repeatedly lost bytes of the file "${file.name}".`);
    }
    ({ progress } = sent);
  }
}

type Stretch = {
  readonly received: number;
  readonly end: number;
  readonly endMs: number;
  readonly reached: Reached;
};

/**
 * Sends chunks while the session has everything that it was sent.
 *
 * @returns the session's last progress, and whether it had everything.
 */
async function sendFrom(
  access: TokenAccess,
  session: UploadSession,
  file: PartMedia,
  { received, end, endMs, reached }: Stretch,
): Promise<{ readonly progress: Progress; readonly isComplete: boolean }> {
  const pieces = piecesOf(file, received);
  const chunkBytes = chunkBytesOf(file.sizeBytes);
  let from = received;
  try {
    for (;;) {
      const to = Math.min(from + chunkBytes, end);
      const stream = Readable.from(pieces.take(to - from), { objectMode: false });
      const progress = await putChunk(access, session, { from, to, stream }, 'upload');
      const isComplete = progress.kind === 'partial' && progress.received === to;
      reached.chunks += isComplete ? 1 : 0;
      if (!isComplete || to === end || progress.uri !== undefined) {
        return { progress, isComplete };
      }

      if (Date.now() > endMs) {
        const [all, there] = sizesOf(file.sizeBytes, to);
        throw notNow(`YouTube has ${there} of ${all} of the file "${file.name}" so far.`);
      }
      from = to;
    }
  } finally {
    await pieces.close();
  }
}

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
  throw notNow(message);
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

/** @throws NetworkError `media_refused` for anything but one video; the rules should have refused it. */
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
