import type { AppBskyActorGetProfile, AppBskyFeedGetPosts } from '@atproto/api';
import { accountNamed, accountOf } from './account.ts';
import { Refusal } from '../refusal.ts';
import type { SandboxDeps } from '../deps.ts';
import { isBlueskyPost } from './post.ts';
import { uriOf } from './record.ts';

/** The existing posts with their figures, as the AppView returns them. */
export function getPosts(
  { store, figures }: SandboxDeps,
  { uris }: AppBskyFeedGetPosts.QueryParams,
) {
  const posts = store
    .all()
    .filter(isBlueskyPost)
    .filter((post) => uris.includes(uriOf(post)) && !store.isHidden(post))
    .map((post) => {
      const told = figures.of(post);
      return {
        uri: uriOf(post),
        cid: post.cid,
        author: authorOf(post.account ?? 'demo'),
        record: post.record,
        indexedAt: post.createdAt,
        likeCount: told.likes,
        replyCount: told.comments,
        repostCount: told.reposts,
        quoteCount: told.quotes,
        bookmarkCount: told.saves,
      };
    });
  return { posts };
}

export function getProfile(
  { figures }: SandboxDeps,
  { actor }: AppBskyActorGetProfile.QueryParams,
) {
  const name = accountNamed(actor);
  if (name === null) {
    throw new Refusal(400, 'Profile not found');
  }
  return { ...authorOf(name), followersCount: figures.followers('bluesky') ?? undefined };
}

const authorOf = (name: 'demo' | 'second') => {
  const { did, handle, displayName } = accountOf(name);
  return { did, handle, displayName };
};
