import { blueskyAccount, mastodonAccount } from '../accounts.ts';
import { blobsIn } from '../bluesky/blobs.ts';
import { segmentsOf as blueskySegments } from '../bluesky/text.ts';
import { segmentsOf as mastodonSegments } from '../mastodon/text.ts';
import type { NetworkId, Post } from '../post.ts';
import type { Segment } from '../segment.ts';

/** How each network looks on the page. */
export const networkFaces = {
  mastodon: {
    label: 'Mastodon',
    displayName: mastodonAccount.displayName,
    handle: `@${mastodonAccount.username}@${mastodonAccount.domain}`,
    profile: `/mastodon/@${mastodonAccount.username}`,
    avatar: '/assets/mastodon.svg',
  },
  bluesky: {
    label: 'Bluesky',
    displayName: blueskyAccount.displayName,
    handle: `@${blueskyAccount.handle}`,
    profile: `/bluesky/profile/${blueskyAccount.did}`,
    avatar: '/assets/bluesky.svg',
  },
} as const satisfies Record<NetworkId, Record<string, string>>;

/** The path of a post's own page. */
export function pathOf(post: Post): string {
  const { profile } = networkFaces[post.network];
  return post.network === 'mastodon' ? `${profile}/${post.id}` : `${profile}/post/${post.id}`;
}

export function tagPath(network: NetworkId, tag: string): string {
  const name = encodeURIComponent(tag.toLowerCase());
  return network === 'mastodon' ? `/mastodon/tags/${name}` : `/bluesky/hashtag/${name}`;
}

export function segmentsOf(post: Post): Segment[] {
  return post.network === 'mastodon'
    ? mastodonSegments(post.text, '/mastodon')
    : blueskySegments(post, '/bluesky');
}

/** A file to show below a post's text. */
export type Shown = { readonly path: string; readonly type: string; readonly description: string };

export function filesOf(post: Post): Shown[] {
  return post.network === 'mastodon'
    ? (post.media ?? []).map(({ cid, type, description }) => shown(cid, type, description ?? ''))
    : blobsIn(post.record).map(({ ref, mimeType }) => shown(ref.$link, mimeType, ''));
}

const shown = (cid: string, type: string, description: string): Shown => ({
  path: `/files/${encodeURIComponent(cid)}`,
  type,
  description,
});
