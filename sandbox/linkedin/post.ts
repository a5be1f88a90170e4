import type { Post } from '../post.ts';

export type PostMedia = {
  readonly urn: string;
  /** Of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly altText: string;
};

/** A card of a link. */
export type PostArticle = {
  readonly source: string;
  readonly title: string;
  readonly description: string;
  readonly thumbnail: PostMedia | null;
};

/** A post, or a comment on one. Its id is its URN. */
export type LinkedinPost = Post & {
  readonly author: string;
  /** In little text, as it came; of a comment empty. */
  readonly commentary: string;
  readonly visibility: string;
  readonly media: readonly PostMedia[];
  readonly article?: PostArticle;
};

export function isLinkedinPost(post: Post | undefined): post is LinkedinPost {
  return post?.network === 'linkedin';
}

/** The URN of the activity that a post is: the comments are its. */
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

export const postSchema = {
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
