import {
  anything,
  having,
  listOf,
  nullable,
  text,
  type Json,
  type Value,
} from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { Connection, NetworkError, PartMedia, ThreadPart } from '../network.ts';

type Expiring = {
  /** When the network deletes the file or ends the upload, in milliseconds since 1970; null for never or unknown. */
  readonly expiresAtMs: number | null;
};

export type KeptUpload<State> = {
  readonly read: () => State | null;
  /** Resolves once it is committed. With null, the next attempt starts the upload again. */
  readonly keep: (upload: State | null) => Promise<void>;
};

const keptSchema = listOf(nullable(having({ file: text, upload: anything })));
type Kept = Value<typeof keptSchema>;

/** The value is sealed, so only this service wrote it. Another shape comes from another version, and is ignored. */
const readKept = answerReader(keptSchema);

const allKept = (connection: Pick<Connection, 'uploadsOf'>, part: ThreadPart): Kept =>
  readKept(connection.uploadsOf(part)) ?? [];

export const keptUploads = <State>(
  connection: Pick<Connection, 'uploadsOf'>,
  part: ThreadPart,
): readonly State[] => allKept(connection, part).flatMap((one) => (one?.upload as State) ?? []);

/** The stored upload of a file, by its place, because a part may have the same file twice. */
export function keptUpload<State>(
  connection: Connection,
  part: ThreadPart,
  file: PartMedia,
): KeptUpload<State> {
  const place = part.media.indexOf(file);
  return {
    read: () => {
      const kept = allKept(connection, part)[place];
      return kept?.file === file.id ? (kept.upload as State) : null;
    },
    keep: (upload) => {
      const kept = allKept(connection, part);
      const all = part.media.map((_, index) =>
        index === place ? upload && { file: file.id, upload } : (kept[index] ?? null),
      );
      return connection.saveUploads(part, all.some(Boolean) ? (all as Json) : null);
    },
  };
}

/** The network no longer has an upload, or takes no more of it. */
export class UploadGone extends Error {
  override readonly name = 'UploadGone';
  readonly refusal: NetworkError;

  constructor(refusal: NetworkError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

type UploadSteps<State> = {
  readonly begin: () => Promise<State>;
  /**
   * The next step: sends a chunk, ends the upload, or waits for its processing.
   *
   * @param isOld Whether an earlier attempt began the upload, whose last response may be lost.
   * @returns the state after it; null when a post may use the file.
   * @throws UploadGone to begin an old upload anew; NetworkError.
   */
  readonly next: (upload: State, isOld: boolean) => Promise<State | null>;
};

/** An upload that expires sooner than this may be gone when the post is created, in milliseconds. */
const expiryMarginMs = 5 * 60_000;

/**
 * Uploads a file step by step. The state is stored after each one, so a worker that dies loses only the current one.
 * Continues the upload of an earlier attempt, or begins anew when the network no longer has it.
 */
export async function uploadInSteps<State extends Expiring>(
  kept: KeptUpload<State>,
  { begin, next }: UploadSteps<State>,
): Promise<State> {
  const bring = async (begun: State, isOld: boolean): Promise<State> => {
    let upload = begun;
    for (let then = await next(upload, isOld); then; then = await next(upload, isOld)) {
      await kept.keep(then);
      upload = then;
    }
    return upload;
  };
  const earlier = kept.read();
  if (earlier && (earlier.expiresAtMs ?? Infinity) - expiryMarginMs > Date.now()) {
    try {
      return await bring(earlier, true);
    } catch (error) {
      if (!(error instanceof UploadGone)) {
        throw error;
      }
    }
  }

  try {
    const begun = await begin();
    await kept.keep(begun);
    return await bring(begun, false);
  } catch (error) {
    if (!(error instanceof UploadGone)) {
      throw error;
    }
    await kept.keep(null);
    throw error.refusal;
  }
}
