import type { AppBskyFeedPost } from '@atproto/api';
import type { Post } from '../post.ts';

export type BlueskyPost = Post & {
  readonly cid: string;
  /** As it came over the wire: its CID is computed from every field. */
  readonly record: AppBskyFeedPost.Record;
};

export function isBlueskyPost(post: Post | undefined): post is BlueskyPost {
  return post?.network === 'bluesky';
}

export const blueskyPostSchema = {
  type: 'object',
  required: ['cid', 'record'],
  properties: { cid: { type: 'string' }, record: { type: 'object' } },
};
