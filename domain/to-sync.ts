/**
 * Changes that a use case has committed and Temporal must receive. Use cases return these values, and their callers
 * pass them to `temporal/`.
 */

/** Fields of a post that its workflow needs. */
export type PostToSync = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly status: string;
  readonly revision: number;
  /** ISO 8601 in UTC: the time of the post or of its last retry; null for a draft. */
  readonly dueAt: string | null;
  /** For a draft: channels are still being sent or reconciled. */
  readonly isStillSending?: boolean;
  /** A channel was settled after the post had ended, so the workflow's result is outdated. */
  readonly isSettled?: boolean;
  /** The post is being removed from its networks. */
  readonly isBeingRemoved?: boolean;
  /** The `X-Request-Id` of the call that made the change; the relay does not know it. */
  readonly requestId?: string | undefined;
};

/** Fields of a replayed delivery that its workflow needs. */
export type DeliveryToSync = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly round: number;
};

/** Request to read a post's metrics now. */
export type PostMetricsRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** Networks of the post's channels. */
  readonly networks: readonly string[];
};
