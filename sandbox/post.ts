import type { AppBskyFeedPost } from '@atproto/api';

type Common = {
  /** Unique within its network: a status id, a record key. */
  readonly id: string;
  readonly text: string;
  /** ISO 8601. Mastodon's own clock; on Bluesky what the client wrote into the record. */
  readonly createdAt: string;
  /** The id of the post that this one answers. It need not be kept any more. */
  readonly replyTo: string | null;
};

/** A file of a status. */
export type Attachment = {
  readonly id: string;
  /** Of the stored file. */
  readonly cid: string;
  readonly type: string;
  readonly description: string | null;
};

export type MastodonPost = Common & {
  readonly network: 'mastodon';
  readonly visibility: string;
  readonly language: string | null;
  /** The Idempotency-Key that it came with. */
  readonly key: string | null;
  /** Absent in posts that were kept before there were any. */
  readonly media?: readonly Attachment[];
};

export type BlueskyPost = Common & {
  readonly network: 'bluesky';
  readonly cid: string;
  /** As it came over the wire: its CID is computed from every field. */
  readonly record: AppBskyFeedPost.Record;
};

export type Post = MastodonPost | BlueskyPost;
export type NetworkId = Post['network'];
