import type { AppBskyFeedPost } from '@atproto/api';
import type { SandboxPost } from '../post.ts';

export type BlueskyPost = SandboxPost & {
  readonly cid: string;
  /** Exactly as received: its CID is computed from every field. */
  readonly record: AppBskyFeedPost.Record;
};

export function isBlueskyPost(post: SandboxPost | undefined): post is BlueskyPost {
  return post?.network === 'bluesky';
}

export const blueskyPostSchema = {
  type: 'object',
  required: ['cid', 'record'],
  properties: { cid: { type: 'string' }, record: { type: 'object' } },
};
