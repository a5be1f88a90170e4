import type { SandboxPost } from '../post.ts';

type StoredFile = { readonly cid: string; readonly type: string };

/** A video; its text is its description. */
export type Video = SandboxPost & {
  readonly kind: 'video';
  readonly title: string;
  readonly tags: readonly string[];
  readonly categoryId: string;
  readonly privacy: string;
  readonly madeForKids: boolean | null;
  readonly isSynthetic: boolean;
  /** Null when no browser supports the format. */
  readonly file: StoredFile | null;
  readonly thumbnail: StoredFile | null;
  readonly uploadStatus: 'uploaded' | 'processed' | 'failed' | 'rejected';
  /** Why it failed or was rejected: YouTube's code. */
  readonly reason: string | null;
  /** Remaining polls until the processing ends. */
  readonly pollsLeft: number;
  /** The result of the processing. */
  readonly endsAs: 'processed' | 'failed';
};

/** A comment under a video. */
export type Comment = SandboxPost & { readonly kind: 'comment'; readonly replyTo: string };

export const isYoutubeVideo = (post: SandboxPost | undefined): post is Video =>
  post?.network === 'youtube' && (post as Video).kind === 'video';

export const isComment = (post: SandboxPost | undefined): post is Comment =>
  post?.network === 'youtube' && (post as Comment).kind === 'comment';

const text = { type: 'string' };
const file = {
  type: ['object', 'null'],
  required: ['cid', 'type'],
  properties: { cid: text, type: text },
};

export const youtubePostSchema = {
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
