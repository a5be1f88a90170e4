import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AccountName } from '../account-name.ts';
import { maxStoredFileBytes } from '../files.ts';
import type { Fate } from '../script.ts';
import { badRequest, refused } from './refusals.ts';
import type { VideoRequest } from './requests.ts';

/** Chunks must be multiples of this, except for the last. Of an interrupted chunk, whole multiples are kept. */
const unitBytes = 256 * 1024;
const lifeMs = 7 * 24 * 60 * 60_000;
/** The most sessions kept; the oldest are dropped. */
const maxSessions = 40;
/** Limit for all sessions together. */
const maxBytes = 5 * maxStoredFileBytes;

/** An upload of a video. */
export type Session = {
  readonly id: string;
  readonly account: AccountName;
  readonly request: VideoRequest;
  /** The parts of the response. */
  readonly parts: readonly string[];
  readonly sizeBytes: number;
  /** The outcome after the last byte. */
  readonly fate: Extract<Fate, { kind: 'take' | 'duplicate' }>;
  readonly begunMs: number;
  /** The bytes so far. */
  readonly chunks: Buffer[];
  received: number;
  /** Id of the created video. */
  videoId: string | null;
};

export type Sessions = {
  /** @throws Refusal 400 for a size that is invalid or too large. */
  begin(begun: Pick<Session, 'account' | 'request' | 'parts' | 'sizeBytes' | 'fate'>): Session;
  /** Undefined for an unknown or expired session. */
  find(id: string): Session | undefined;
};

/** Uploads under way and completed ones, in memory only. @param now Milliseconds since 1970. */
export function createSessions(now: () => number): Sessions {
  const sessions = new Map<string, Session>();
  return {
    begin(begun) {
      if (begun.sizeBytes < 1 || begun.sizeBytes > maxStoredFileBytes) {
        throw badRequest(
          'uploadTooLarge',
          `The sandbox takes videos of up to ${maxStoredFileBytes} bytes.`,
        );
      }
      const id = randomBytes(24).toString('base64url');
      const session: Session = {
        ...begun,
        id,
        begunMs: now(),
        chunks: [],
        received: 0,
        videoId: null,
      };
      sessions.set(id, session);
      const held = () => [...sessions.values()].reduce((sum, { received }) => sum + received, 0);
      for (const oldest of sessions.keys()) {
        if (sessions.size <= maxSessions && held() <= maxBytes) {
          break;
        }
        sessions.delete(oldest);
      }
      return session;
    },
    find(id) {
      const session = sessions.get(id);
      return session !== undefined && now() - session.begunMs < lifeMs ? session : undefined;
    },
  };
}

/** The range of a request to a session; `question` asks for the state. */
type Range = { readonly from: number; readonly to: number } | 'question';

/** @throws Refusal 400 for an invalid `Content-Range`. */
export function rangeOf(header: string, { sizeBytes, received }: Session): Range {
  const match = /^bytes (?:(?<from>\d{1,15})-(?<last>\d{1,15})|\*)\/(?<size>\d{1,15})$/v.exec(
    header,
  );
  const { from, last, size } = match?.groups ?? {};
  if (size === undefined || Number(size) !== sizeBytes) {
    throw badRequest('badRequest', `The Content-Range "${header}" does not fit this upload.`);
  }
  if (from === undefined) {
    return 'question';
  }
  const range = { from: Number(from), to: Number(last) + 1 };
  const length = range.to - range.from;
  const isComplete = range.to === sizeBytes || length % unitBytes === 0;
  if (range.from !== received || length < 1 || range.to > sizeBytes || !isComplete) {
    const message = `The Content-Range "${header}" does not follow ${received} bytes in chunks of 256 KiB.`;
    throw badRequest('badRequest', message);
  }
  return range;
}

/**
 * Reads a chunk. Keeps whole multiples of 256 KiB of an interrupted one.
 *
 * @throws Refusal 400 for more or fewer bytes than announced.
 */
export async function takeChunk(
  request: IncomingMessage,
  session: Session,
  length: number,
): Promise<void> {
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  const pieces: Buffer[] = [];
  let received = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      received += piece.length;
      if (received > length) {
        break;
      }
    }
  } catch {
    // The client disconnected.
  }
  if (received > length) {
    throw badRequest('badRequest', 'The chunk is longer than its Content-Range says.');
  }
  const isComplete = received === length;
  const kept = isComplete ? received : Math.floor(received / unitBytes) * unitBytes;
  session.chunks.push(Buffer.concat(pieces).subarray(0, kept));
  session.received += kept;
  if (!isComplete) {
    throw refused(400, 'badRequest', 'The chunk broke off.');
  }
}
