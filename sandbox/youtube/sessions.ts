import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AccountName } from '../account-name.ts';
import { maxFileBytes } from '../files.ts';
import type { Fate } from '../script.ts';
import { badRequest, refused } from './refusals.ts';
import type { VideoRequest } from './requests.ts';

/** Chunks are multiples of this, but for the last; of a broken one so much is kept. */
const unitBytes = 256 * 1024;
const lifeMs = 7 * 24 * 60 * 60_000;
/** How many are remembered. The oldest are forgotten. */
const maxSessions = 40;
/** What those that are under way may have together. */
const maxBytes = 5 * maxFileBytes;

/** A video on its way. */
export type Session = {
  readonly id: string;
  readonly account: AccountName;
  readonly request: VideoRequest;
  /** That the answer is to have. */
  readonly parts: readonly string[];
  readonly sizeBytes: number;
  /** What becomes of it once it is there. */
  readonly fate: Extract<Fate, { kind: 'take' | 'duplicate' }>;
  readonly begunMs: number;
  /** The bytes so far. */
  readonly chunks: Buffer[];
  received: number;
  /** Of the video that came of it. */
  videoId: string | null;
};

export type Sessions = {
  /** @throws Refusal 400 for a size that is none, or too large. */
  begin(begun: Pick<Session, 'account' | 'request' | 'parts' | 'sizeBytes' | 'fate'>): Session;
  /** Undefined for one that never was, or has expired. */
  find(id: string): Session | undefined;
};

/** Uploads that are under way, and those that ended. A restart forgets them. @param now Milliseconds since 1970. */
export function createSessions(now: () => number): Sessions {
  const sessions = new Map<string, Session>();
  return {
    begin(begun) {
      if (begun.sizeBytes < 1 || begun.sizeBytes > maxFileBytes) {
        throw badRequest(
          'uploadTooLarge',
          `The sandbox takes videos of up to ${maxFileBytes} bytes.`,
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

/** What a request to a session says of itself. */
type Range = { readonly from: number; readonly to: number } | 'question';

/** @throws Refusal 400 for a header that the protocol does not have here. */
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
  const isWhole = range.to === sizeBytes || length % unitBytes === 0;
  if (range.from !== received || length < 1 || range.to > sizeBytes || !isWhole) {
    const message = `The Content-Range "${header}" does not follow ${received} bytes in chunks of 256 KiB.`;
    throw badRequest('badRequest', message);
  }
  return range;
}

/**
 * Takes a chunk as it comes. Of one that breaks off it keeps whole multiples of 256 KiB.
 *
 * @throws Refusal 400 for more or fewer bytes than were announced.
 */
export async function takeChunk(
  request: IncomingMessage,
  session: Session,
  length: number,
): Promise<void> {
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  const pieces: Buffer[] = [];
  let taken = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      taken += piece.length;
      if (taken > length) {
        break;
      }
    }
  } catch {
    // The client is gone.
  }
  if (taken > length) {
    throw badRequest('badRequest', 'The chunk is longer than its Content-Range says.');
  }
  const isWhole = taken === length;
  const kept = isWhole ? taken : Math.floor(taken / unitBytes) * unitBytes;
  session.chunks.push(Buffer.concat(pieces).subarray(0, kept));
  session.received += kept;
  if (!isWhole) {
    throw refused(400, 'badRequest', 'The chunk broke off.');
  }
}
