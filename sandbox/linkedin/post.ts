import type { SandboxPost } from '../post.ts';

export type LinkedinPostMedia = {
  readonly urn: string;
  /** Content hash of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly altText: string;
};

/** A link preview. */
export type PostArticle = {
  readonly source: string;
  readonly title: string;
  readonly description: string;
  readonly thumbnail: LinkedinPostMedia | null;
};

/** A post or a comment. Its id is its URN. */
export type LinkedinPost = SandboxPost & {
  readonly author: string;
  /** Little text, as received; empty for a comment. */
  readonly commentary: string;
  readonly visibility: string;
  readonly media: readonly LinkedinPostMedia[];
  readonly article?: PostArticle;
};

export function isLinkedinPost(post: SandboxPost | undefined): post is LinkedinPost {
  return post?.network === 'linkedin';
}

/** The URN of a post's activity, which the comments belong to. */
export const activityOf = (urn: string): string =>
  `urn:li:activity:${BigInt(/(?<id>[0-9]+)$/v.exec(urn)?.groups?.['id'] ?? '0') + 1n}`;

const mediaSchema = {
  type: 'object',
  required: ['urn', 'cid', 'type', 'altText'],
  properties: {
    urn: { type: 'string' },
    cid: { type: 'string' },
    type: { type: 'string' },
    altText: { type: 'string' },
  },
};

export const linkedinPostSchema = {
  type: 'object',
  required: ['author', 'commentary', 'visibility', 'media'],
  properties: {
    author: { type: 'string' },
    commentary: { type: 'string' },
    visibility: { type: 'string' },
    media: { type: 'array', items: mediaSchema },
    article: {
      type: 'object',
      required: ['source', 'title', 'description', 'thumbnail'],
      properties: {
        source: { type: 'string' },
        title: { type: 'string' },
        description: { type: 'string' },
        thumbnail: { ...mediaSchema, nullable: true },
      },
    },
  },
};
