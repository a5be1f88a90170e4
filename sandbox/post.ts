import type { AccountName } from './account-name.ts';

/** What every network's posts have. A network adds what it needs to answer with them. */
export type Post = {
  readonly network: string;
  /** Unique within its network: a status id, a record key. */
  readonly id: string;
  readonly text: string;
  /** ISO 8601. The sandbox's own clock, or what the client wrote into the post. */
  readonly createdAt: string;
  /** The id of the post that this one answers or comments. It need not be kept any more. */
  readonly replyTo: string | null;
  /** Who wrote it; the demo account when absent. */
  readonly account?: AccountName | undefined;
};

/** A file of a post, by its bytes. */
export type PostFile = {
  /** Of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly altText: string;
};

/** A post that its network refused: kept for the page only, no call of a network's API finds it. */
export type RefusedPost = Post & {
  /** Why, in the network's words. */
  readonly refused: string;
  readonly title?: string | undefined;
  readonly files?: readonly PostFile[] | undefined;
};

/** Picks the posts of an account. */
export const isBy =
  (account: AccountName) =>
  (post: Post): boolean =>
    (post.account ?? 'demo') === account;

export function isRefused(post: Post): post is RefusedPost {
  return 'refused' in post;
}
