import type { Json } from '../../../domain/json-schema.ts';
import { answerReader } from '../../answer.ts';
import type { Connection, ThreadPart, PartMedia } from '../../network.ts';

/** A range of bytes, and the URL to upload it to. */
export type Range = {
  readonly uploadUrl: string;
  readonly firstByte: number;
  readonly lastByte: number;
};

/** A video upload in progress, with all that the next attempt needs to continue. */
export type VideoUpload = {
  readonly urn: string;
  readonly uploadToken: string;
  readonly expiresAtMs: number | null;
  /** In order, without gaps. */
  readonly ranges: readonly Range[];
  /** LinkedIn's ids of the uploaded ranges, in order. */
  readonly partIds: readonly string[];
};

/** The state of a file's upload to LinkedIn. */
export type KeptFile =
  /** Uploaded. A second send uses the same URN, so that LinkedIn recognises the duplicate. */
  | { readonly kind: 'whole'; readonly id: string; readonly urn: string }
  /** A video with some ranges uploaded. */
  | { readonly kind: 'begun'; readonly id: string; readonly upload: VideoUpload };

/** The value is sealed, so only what differs between versions of this service is checked. */
const readKept = answerReader<readonly (KeptFile | null)[]>({
  type: 'array',
  items: {
    type: 'object',
    nullable: true,
    required: ['kind', 'id'],
    properties: { kind: { enum: ['whole', 'begun'] }, id: { type: 'string' } },
  },
});

/** Stores the upload state of one file of a part between attempts. */
export type Keeper = {
  readonly kept: () => KeptFile | null;
  /** Resolves once it is committed. With null, the next attempt starts the upload again. */
  readonly keep: (file: KeptFile | null) => Promise<void>;
};

/** @returns a keeper for each of the part's files. The state of another file at the same index is ignored. */
export function openKeepers(
  connection: Connection,
  part: ThreadPart,
): readonly { readonly file: PartMedia; readonly keeper: Keeper }[] {
  const all = [...(readKept(connection.uploadsOf(part)) ?? [])];
  return part.media.map((file, index) => ({
    file,
    keeper: {
      kept: () => (all[index]?.id === file.id ? all[index] : null),
      keep: (kept) => {
        all[index] = kept;
        return connection.saveUploads(part, Array.from(all, (one) => one ?? null) as Json[]);
      },
    },
  }));
}
