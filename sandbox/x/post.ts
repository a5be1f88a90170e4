import type { SandboxPost } from '../post.ts';

/** A file of a post. */
export type XFile = {
  /** X's id of the upload. */
  readonly id: string;
  /** Content hash of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly altText: string;
};

export type XPost = SandboxPost & {
  /** The first post of its thread; the post itself when it is not a reply. */
  readonly conversationId: string;
  readonly files: readonly XFile[];
  readonly isMadeWithAi: boolean;
  readonly isPaidPartnership: boolean;
};

export function isXPost(post: SandboxPost | undefined): post is XPost {
  return post?.network === 'x';
}

export const xPostSchema = {
  type: 'object',
  required: ['conversationId', 'files', 'isMadeWithAi', 'isPaidPartnership'],
  properties: {
    conversationId: { type: 'string' },
    files: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'cid', 'type', 'altText'],
        properties: {
          id: { type: 'string' },
          cid: { type: 'string' },
          type: { type: 'string' },
          altText: { type: 'string' },
        },
      },
    },
    isMadeWithAi: { type: 'boolean' },
    isPaidPartnership: { type: 'boolean' },
  },
};
