import type { AccountName } from './account-name.ts';

/** Common fields of posts. A network adds the fields that its responses need. */
export type SandboxPost = {
  readonly network: string;
  /** Unique within its network: a status id, a record key. */
  readonly id: string;
  readonly text: string;
  /** ISO 8601, from the sandbox's clock or from the client's record. */
  readonly createdAt: string;
  /** The id of the post that this one replies to or comments on. That post may have been dropped. */
  readonly replyTo: string | null;
  /** The author; the demo account when absent. */
  readonly account?: AccountName | undefined;
};

/** A file of a post. */
export type SandboxFile = {
  /** Content hash of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly altText: string;
};

/** A refused post: only the page shows it; no API call returns it. */
export type RefusedPost = SandboxPost & {
  /** The network's reason. */
  readonly refused: string;
  readonly title?: string | undefined;
  readonly files?: readonly SandboxFile[] | undefined;
};

/** Selects the posts of an account. */
export const isBy =
  (account: AccountName) =>
  (post: SandboxPost): boolean =>
    (post.account ?? 'demo') === account;

export function isRefused(post: SandboxPost): post is RefusedPost {
  return 'refused' in post;
}
