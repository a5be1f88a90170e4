import type { Json } from '../../../domain/json-schema.ts';
import { answerReader } from '../../answer.ts';
import type { Connection, Part, PartMedia } from '../../network.ts';

/** Which bytes LinkedIn wants at which address. */
export type Range = {
  readonly uploadUrl: string;
  readonly firstByte: number;
  readonly lastByte: number;
};

/** A video on its way: what the next try needs to go on. */
export type VideoUpload = {
  readonly urn: string;
  readonly uploadToken: string;
  readonly expiresAtMs: number | null;
  /** In order, without a gap. */
  readonly ranges: readonly Range[];
  /** Of the ranges that are there, in their order: how LinkedIn knows them. */
  readonly partIds: readonly string[];
};

/** A file of a part, on its way to LinkedIn or there. */
export type KeptFile =
  /** It is there. A second send names the same one, so that LinkedIn knows the post again. */
  | { readonly kind: 'whole'; readonly id: string; readonly urn: string }
  /** A video of which some ranges are there. */
  | { readonly kind: 'begun'; readonly id: string; readonly upload: VideoUpload };

/** Sealed by us and nobody else, so only what differs between versions of ours is checked. */
const readKept = answerReader<readonly (KeptFile | null)[]>({
  type: 'array',
  items: {
    type: 'object',
    nullable: true,
    required: ['kind', 'id'],
    properties: { kind: { enum: ['whole', 'begun'] }, id: { type: 'string' } },
  },
});

/** What is kept of one file of a part, between tries. */
export type Keeper = {
  readonly kept: () => KeptFile | null;
  /** Resolves once it is committed. Null: the next try begins anew. */
  readonly keep: (file: KeptFile | null) => Promise<void>;
};

/** @returns what keeps each of the part's files. What was kept of another file at the same place is not found. */
export function openKeepers(
  connection: Connection,
  part: Part,
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
