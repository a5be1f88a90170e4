import type { SandboxPost } from '../post.ts';

/** A file of a status. */
export type Attachment = {
  readonly id: string;
  /** Content hash of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly description: string | null;
};

export type Status = SandboxPost & {
  readonly visibility: string;
  readonly language: string | null;
  /** The request's Idempotency-Key. */
  readonly key: string | null;
  /** Absent in posts of earlier versions. */
  readonly spoilerText?: string;
  readonly sensitive?: boolean;
  readonly media?: readonly Attachment[];
};

export function isStatus(post: SandboxPost | undefined): post is Status {
  return post?.network === 'mastodon';
}

export const statusSchema = {
  type: 'object',
  required: ['visibility', 'language', 'key'],
  properties: {
    visibility: { type: 'string' },
    language: { type: ['string', 'null'] },
    key: { type: ['string', 'null'] },
    spoilerText: { type: 'string' },
    sensitive: { type: 'boolean' },
    media: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'cid', 'type', 'description'],
        properties: {
          id: { type: 'string' },
          cid: { type: 'string' },
          type: { type: 'string' },
          description: { type: ['string', 'null'] },
        },
      },
    },
  },
};
