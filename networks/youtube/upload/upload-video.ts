import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { answerReader } from '../../answer.ts';
import { NetworkError, type Connection, type PartMedia, type PreparedPart } from '../../network.ts';
import { sizesOf } from '../../validation/amounts.ts';
import { isVideo } from '../../validation/files.ts';
import type { Access } from '../../access-token.ts';
import { videoOf } from '../prepared.ts';
import type { Video } from '../videos.ts';
import { chunkBytesOf, lastChunkStart, piecesOf } from './pieces.ts';
import {
  askSession,
  movedTo,
  putChunk,
  startSession,
  type Progress,
  type Session,
} from './session.ts';

/** How long one try sends, in milliseconds: a chunk that is on its way then still ends within the try. */
const sendsForMs = 150_000;
/** How often a session may have less than it was sent before the try gives up. */
const mostSetbacks = 3;

/** What is kept of a session for the next try. */
type Kept = Session & {
  /** Of what the session was begun for. */
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

/** What was kept of a part's upload, or null. */
export const keptSession = (connection: Connection, part: PreparedPart): Session | null =>
  readKept(connection.uploadsOf(part));

/** Where a video's upload stands before its last chunk. */
export type Upload =
  | { readonly kind: 'waiting'; readonly session: Session; readonly received: number }
  /** An earlier try sent all of it, and its answer was lost. */
  | { readonly kind: 'finished'; readonly video: Video };

/**
 * Brings all of a video to YouTube but its last chunk, without which there is no video: nothing of this can be seen.
 *
 * The session's address is kept before the first byte goes out, so that the next try goes on where this one ended,
 * whatever ended it.
 */
export async function uploadVideo(
  connection: Connection,
  access: Access,
  part: PreparedPart,
): Promise<Upload> {
  const file = onlyVideo(part);
  const resource = videoOf(part);
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([resource, file.id, file.sizeBytes]))
    .digest('hex');
  const keep = (session: Session) => connection.saveUploads(part, { ...session, fingerprint });

  const kept = readKept(connection.uploadsOf(part));
  // Of another video or other words (an option of the channel was changed between two tries) there is no use for it.
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

/** @throws NetworkError `media_refused` for other files than one video, which the rules let nobody schedule. */
export function onlyVideo({ media }: PreparedPart): PartMedia {
  const [file, ...others] = media;
  if (!file || !isVideo(file) || others.length > 0) {
    const message = 'A post for YouTube is exactly 1 video and no other file.';
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }

  return file;
}

type Way = {
  readonly access: Access;
  readonly file: PartMedia;
  /** Keeps a session that has another address from now on. */
  readonly keep: (session: Session) => Promise<void>;
};

/** @throws NetworkError that says whether YouTube has more of the file than before. */
async function bring(way: Way, begun: Session, progressThen: Progress): Promise<Upload> {
  const reached = { chunks: 0 };
  try {
    return await bringRest(way, begun, progressThen, reached);
  } catch (error) {
    if (!(error instanceof NetworkError) || reached.chunks === 0) {
      throw error;
    }

    const { code, message, taken, retryAtMs, limit, server, cause } = error;
    const known = { taken, retryAtMs, limit, cause, ...(server && { server }) };
    throw new NetworkError(code, message, { ...known, hasProgressed: true });
  }
}

/** How many chunks YouTube took in this try. */
type Reached = { chunks: number };

async function bringRest(
  { access, file, keep }: Way,
  begun: Session,
  progressThen: Progress,
  reached: Reached,
): Promise<Upload> {
  const endMs = Date.now() + sendsForMs;
  let [session, progress, setbacks] = [begun, progressThen, 0];
  for (;;) {
    if (progress.kind === 'gone') {
      throw notNow('YouTube no longer knows the upload that was begun.');
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
    setbacks += sent.isWhole ? 0 : 1;
    if (setbacks >= mostSetbacks) {
      throw notNow(`YouTube does not keep what it is sent of the file "${file.name}".`);
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
 * Sends chunk after chunk, for as long as the session has all that it was sent.
 *
 * @returns what the session said last, and whether it had all by then.
 */
async function sendFrom(
  access: Access,
  session: Session,
  file: PartMedia,
  { received, end, endMs, reached }: Stretch,
): Promise<{ readonly progress: Progress; readonly isWhole: boolean }> {
  const pieces = piecesOf(file, received);
  const chunkBytes = chunkBytesOf(file.sizeBytes);
  let from = received;
  try {
    for (;;) {
      const to = Math.min(from + chunkBytes, end);
      const stream = Readable.from(pieces.take(to - from), { objectMode: false });
      const progress = await putChunk(access, session, { from, to, stream }, 'upload');
      const isWhole = progress.kind === 'partial' && progress.received === to;
      reached.chunks += isWhole ? 1 : 0;
      if (!isWhole || to === end || progress.uri !== undefined) {
        return { progress, isWhole };
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

const notNow = (message: string): NetworkError =>
  new NetworkError('network_unavailable', message, { taken: 'no', server: 'answered' });
