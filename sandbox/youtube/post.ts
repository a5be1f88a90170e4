import type { Post } from '../post.ts';

type StoredFile = { readonly cid: string; readonly type: string };

/** A video; its text is its description. */
export type Video = Post & {
  readonly kind: 'video';
  readonly title: string;
  readonly tags: readonly string[];
  readonly categoryId: string;
  readonly privacy: string;
  readonly madeForKids: boolean | null;
  readonly isSynthetic: boolean;
  /** Null for one that is in no format that a browser knows. */
  readonly file: StoredFile | null;
  readonly thumbnail: StoredFile | null;
  readonly uploadStatus: 'uploaded' | 'processed' | 'failed' | 'rejected';
  /** Why it failed or was rejected, in YouTube's own word. */
  readonly reason: string | null;
  /** How often it is still being processed when somebody asks. */
  readonly pollsLeft: number;
  /** What it becomes then. */
  readonly endsAs: 'processed' | 'failed';
};

/** A comment under a video. */
export type Comment = Post & { readonly kind: 'comment'; readonly replyTo: string };

export const isVideo = (post: Post | undefined): post is Video =>
  post?.network === 'youtube' && (post as Video).kind === 'video';

export const isComment = (post: Post | undefined): post is Comment =>
  post?.network === 'youtube' && (post as Comment).kind === 'comment';

const text = { type: 'string' };
const file = {
  type: ['object', 'null'],
  required: ['cid', 'type'],
  properties: { cid: text, type: text },
};

export const postSchema = {
  type: 'object',
  required: ['kind'],
  properties: {
    kind: { type: 'string', enum: ['video', 'comment'] },
    title: text,
    tags: { type: 'array', items: text },
    categoryId: text,
    privacy: text,
    madeForKids: { type: ['boolean', 'null'] },
    isSynthetic: { type: 'boolean' },
    file,
    thumbnail: file,
    uploadStatus: { type: 'string', enum: ['uploaded', 'processed', 'failed', 'rejected'] },
    reason: { type: ['string', 'null'] },
    pollsLeft: { type: 'integer' },
    endsAs: { type: 'string', enum: ['processed', 'failed'] },
  },
};
