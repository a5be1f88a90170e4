import { answerReader } from '../../answer.ts';
import type { Connection, ThreadPart, PartMedia } from '../../network.ts';
import { idSchema } from '../client.ts';

/** The upload state of a file, as stored in the ledger. */
export type KeptFile = {
  /** The id in the media library. */
  readonly file: string;
  /** X's id of the file. */
  readonly id: string;
  /** When X deletes it, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** How many segments X has; 0 for a file that was sent in one request. */
  readonly segments: number;
  /**
   * `uploading`: X may lack segments, or the end of the upload. `processing`: X has the whole file and is processing
   * it.
   * `ready`: a post may use it.
   */
  readonly state: 'uploading' | 'processing' | 'ready';
  /** Start of the state, in milliseconds since 1970. */
  readonly stateSinceMs: number;
  /** Whether X has its alt text. */
  readonly isDescribed: boolean;
};

const time = { type: 'number', minimum: 0 };
const readKept = answerReader<{ readonly files: readonly KeptFile[] }>({
  type: 'object',
  required: ['files'],
  properties: {
    files: {
      type: 'array',
      items: {
        type: 'object',
        required: ['file', 'id', 'expiresAtMs', 'segments', 'state', 'stateSinceMs', 'isDescribed'],
        properties: {
          file: { type: 'string' },
          id: idSchema,
          expiresAtMs: time,
          segments: { type: 'integer', minimum: 0 },
          state: { enum: ['uploading', 'processing', 'ready'] },
          stateSinceMs: time,
          isDescribed: { type: 'boolean' },
        },
      },
    },
  },
});

/** The stored upload states of a part's files. */
export const keptFiles = (
  connection: Pick<Connection, 'uploadsOf'>,
  part: ThreadPart,
): readonly KeptFile[] => readKept(connection.uploadsOf(part))?.files ?? [];

/** The upload state of one file across attempts. */
export type KeptPlace = {
  /** The state from an earlier attempt, unless X has deleted the file. */
  readonly earlier: KeptFile | null;
  /** Resolves once it is committed. */
  readonly keep: (fresh: KeptFile) => Promise<void>;
};

/** An id that expires sooner than this may be invalid when the post is created, in milliseconds. */
const expiryMarginMs = 5 * 60_000;

/** The state of a file, by its index, because a part may have the same file twice. */
export function keptPlace(connection: Connection, part: ThreadPart, file: PartMedia): KeptPlace {
  const place = part.media.indexOf(file);
  const known = keptFiles(connection, part)[place];
  const isUsable = known?.file === file.id && known.expiresAtMs - expiryMarginMs > Date.now();
  return {
    earlier: isUsable ? known : null,
    keep: (fresh) => {
      const files = [...keptFiles(connection, part)];
      files[place] = fresh;
      return connection.saveUploads(part, { files });
    },
  };
}
