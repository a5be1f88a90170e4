import { answerReader } from '../answer.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { PreparedPart } from '../network.ts';

export const cidSchema = { type: 'string', pattern: '^[a-z0-9]+$', maxLength: 255 };

/** A file on a server, as a record refers to it. */
export type Blob = {
  readonly $type: 'blob';
  readonly ref: { readonly $link: string };
  readonly mimeType: string;
  readonly size: number;
};

export const blobSchema = {
  type: 'object',
  required: ['$type', 'ref', 'mimeType', 'size'],
  properties: {
    $type: { const: 'blob' },
    ref: { type: 'object', required: ['$link'], properties: { $link: cidSchema } },
    mimeType: { type: 'string', maxLength: 255 },
    size: { type: 'integer', minimum: 0 },
  },
};

export const collection = 'app.bsky.feed.post';

/** A record's URI and its hash: identifies one version of one post. */
export type StrongRef = { readonly uri: string; readonly cid: string };

/** A complete post, made before the first attempt and stored, so that every attempt writes the same bytes and key. */
export type PreparedPost = {
  readonly rkey: string;
  readonly cid: string;
  /** The record as it goes to the server. */
  readonly record: { readonly [key: string]: Json };
  /** The part's files, in order. Absent in parts that were prepared before posts had files. */
  readonly blobs?: readonly Blob[];
  /** Indexes of the files that were re-encoded. */
  readonly encoded?: readonly number[];
  /** Indexes of the files that the video service put on the server. */
  readonly processed?: readonly number[];
  /** The picture of the link card. */
  readonly thumb?: Blob;
  /** What differs from the owner's post. */
  readonly warnings?: readonly string[];
};

const read = answerReader<PreparedPost>({
  type: 'object',
  required: ['rkey', 'cid', 'record'],
  properties: {
    rkey: { type: 'string', pattern: '^[2-7a-z]{13}$' },
    cid: { type: 'string', minLength: 1 },
    record: { type: 'object' },
    blobs: { type: 'array', items: blobSchema },
    encoded: { type: 'array', items: { type: 'integer', minimum: 0 } },
    processed: { type: 'array', items: { type: 'integer', minimum: 0 } },
    thumb: blobSchema,
    warnings: { type: 'array', items: { type: 'string' } },
  },
});

/** @throws Error for data that this network's `prepare` did not make: a bug, or a foreign row. */
export function preparedPostOf(part: PreparedPart): PreparedPost {
  const post = read(part.data);
  if (!post) {
    throw new Error(`Part ${part.key} holds no prepared Bluesky post.`);
  }

  return post;
}

export const uriOf = (did: string, { rkey }: { readonly rkey: string }): string =>
  `at://${did}/${collection}/${rkey}`;
