import { answerReader } from '../../answer.ts';
import type { Connection, Part, PartMedia } from '../../network.ts';
import { idSchema } from '../client.ts';

/** A file on its way to X, or there, as the ledger keeps it. */
export type KeptFile = {
  /** In the media library. */
  readonly file: string;
  /** X's id of it. */
  readonly id: string;
  /** When X forgets it, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** How many segments X has; 0 for a file that came in one request. */
  readonly segments: number;
  /**
   * `uploading`: X has some of its segments, or all. `processing`: X has all of it and works on it. `ready`: a post may
   * use it.
   */
  readonly state: 'uploading' | 'processing' | 'ready';
  /** Since when, in milliseconds since 1970. */
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

/** Of a part's files, those of which an earlier try kept something. */
export const keptFiles = (
  connection: Pick<Connection, 'uploadsOf'>,
  part: Part,
): readonly KeptFile[] => readKept(connection.uploadsOf(part))?.files ?? [];

/** What X has of one file, from try to try. */
export type KeptPlace = {
  /** What an earlier try left, unless X has forgotten it by now. */
  readonly earlier: KeptFile | null;
  /** Resolves once it is committed. */
  readonly keep: (fresh: KeptFile) => Promise<void>;
};

/** An id that is about to expire may be gone when the post is made, in milliseconds. */
const expiryMarginMs = 5 * 60_000;

/** The place of a file in what is kept of its part. A part may have the same file twice. */
export function keptPlace(connection: Connection, part: Part, file: PartMedia): KeptPlace {
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
