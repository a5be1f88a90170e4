const byCopy = ' (POST /posts/{id}/copy with {"only": "failed"} leaves out the other channels).';

/** @param what The post, or the part of it that is in doubt. */
export const settleAdvice = (what: string): string =>
  `It is not sent again automatically, so that it cannot go out twice. Look at the account, then settle this channel: say where ${what} is, or that it is not there.`;

type ChannelErrorFacts = {
  /** Whether the same request can succeed later without a change. */
  readonly canRetryLater: boolean;
  /** Whether a retry of the post can succeed now; false when something has to change first. */
  readonly retryable: boolean;
  /** The end of the message when no automatic step follows. */
  readonly advice: string;
  /** For callers, in the OpenAPI document and docs/guides/errors.md. */
  readonly meaning: string;
};

/**
 * Why a channel did not get its post. Programs compare these, so a code is never renamed. `paced` and `processing` are
 * waits, not failures.
 */
export const channelErrors = {
  content_refused: {
    canRetryLater: false,
    retryable: false,
    advice: `It is not retried automatically: make a new post with content that the network accepts${byCopy}`,
    meaning:
      'The network refused the content. Make a draft for the failed channels with `POST /posts/{id}/copy` and `{"only": "failed"}`, and change its content. If the channel has a `url`, unpublish it there first: a copy sends the whole thread.',
  },
  media_refused: {
    canRetryLater: false,
    retryable: false,
    advice: `It is not retried automatically: make a new post with another file${byCopy}`,
    meaning:
      'The network refused a file. Make a draft as for `content_refused`, with another file.',
  },
  duplicate: {
    canRetryLater: false,
    retryable: false,
    advice: `It is not retried automatically: make a new post with another text, if it is to go out once more${byCopy}`,
    meaning:
      'The network has an equal post of this account. Make a draft as for `content_refused`, with another text.',
  },
  access_lost: {
    canRetryLater: false,
    retryable: false,
    advice: 'Connect the channel again, then retry the post.',
    meaning:
      'The access of the channel was revoked or has expired. Connect the account again, then retry.',
  },
  disconnected: {
    canRetryLater: false,
    retryable: false,
    advice: 'Connect the account again, then retry the post.',
    meaning: 'The account was disconnected here. Connect it again, then retry.',
  },
  permission_missing: {
    canRetryLater: false,
    retryable: false,
    advice: 'Connect the channel again with the permission to post, then retry the post.',
    meaning:
      'The access does not include what the post needs. Connect the account again with the permission, then retry.',
  },
  rate_limited: {
    canRetryLater: true,
    retryable: true,
    advice: 'Retry the post later.',
    meaning:
      'The network limits how much is posted. Wait: the post goes out when the limit ends, or fails as `too_late` a day after its time.',
  },
  paced: {
    canRetryLater: true,
    retryable: true,
    advice: 'Retry the post later.',
    meaning:
      'This service holds the post back, so that the posts of a channel or of a server go out in order, or because the workspace has used its allowance of the day on the network. Wait.',
  },
  network_unavailable: {
    canRetryLater: true,
    retryable: true,
    advice: 'All automatic attempts have failed. Retry the post once the network works again.',
    meaning: 'The network did not answer, or answered with an error of its own.',
  },
  processing: {
    canRetryLater: true,
    retryable: true,
    advice:
      'The network has the post: look at the account, and if it is not there, retry the post.',
    meaning: 'The network has the post and works on it, usually on a video. Wait.',
  },
  too_late: {
    canRetryLater: false,
    retryable: true,
    advice: 'It cannot go out within a day of its time. Retry the post if it is still to go out.',
    meaning: 'The post could not go out within a day of its time. Retry if it is still to go out.',
  },
  cancelled: {
    canRetryLater: false,
    retryable: false,
    advice: 'Give the post a new time to send the rest.',
    meaning:
      'The post was cancelled when a part of it was on the network. It is a draft: a new time sends the rest.',
  },
  unconfirmed: {
    canRetryLater: false,
    retryable: false,
    advice: settleAdvice('the post'),
    meaning:
      'The network may or may not have the post. Look at the account, then settle the channel by `POST /posts/{id}/settle`; a retry leaves it alone.',
  },
  not_published: {
    canRetryLater: false,
    retryable: true,
    advice: 'Retry the post to send it.',
    meaning: 'The channel was settled as not there. A retry sends what is missing.',
  },
  internal: {
    canRetryLater: true,
    retryable: true,
    advice: 'Retry the post after the operator has fixed the problem.',
    meaning: 'The fault is on the side of this service.',
  },
} as const satisfies Readonly<Record<string, ChannelErrorFacts>>;
export type ChannelErrorCode = keyof typeof channelErrors;
export const channelErrorCodes = Object.keys(channelErrors) as readonly ChannelErrorCode[];

export const errorCodesDescription = `Why the channel does not have the post. ${channelErrorCodes
  .map((code) => `\`${code}\`: ${channelErrors[code].meaning}`)
  .join(' ')}`;

/** The scope of a network's limit: one account, or all our requests to one server or to the network. */
export type LimitScope = 'channel' | 'server' | 'network';

/** A rate limit of a network. No attempt in its scope starts before its end. */
export type NetworkLimit = { readonly scope: LimitScope; readonly untilMs: number };

/**
 * The end of an error message: what happens next after a failed attempt, or what the user can do.
 *
 * @param isPartLive A part of the post is on the network, and a new post would repeat it.
 */
export function failureAdvice(
  code: ChannelErrorCode,
  retryAtMs: number | null,
  isPartLive = false,
): string {
  if (retryAtMs === null) {
    return isPartLive && needsNewPost.has(code) ? adviceWithLiveParts : channelErrors[code].advice;
  }

  const next = code === 'processing' ? 'The next check is' : 'The next attempt is';
  return `${next} at ${new Date(retryAtMs).toISOString()}.`;
}

/** The error of a channel in doubt. @param message Why it is open, or why the network is not asked now. */
export const inDoubtText = (message: string, code: ChannelErrorCode, atMs: number): string =>
  `The network was asked to publish, but it is not known yet whether it has the post. (${message}) ${code === 'access_lost' ? 'Connect the channel again. ' : ''}The network is asked again at ${new Date(atMs).toISOString()}, and nothing is sent until it answers.`;

const needsNewPost: ReadonlySet<ChannelErrorCode> = new Set([
  'content_refused',
  'media_refused',
  'duplicate',
]);
const adviceWithLiveParts = `It is not retried automatically, and a new post would repeat what is live. Add the rest on the network by hand, or remove what is live (POST /posts/{id}/unpublish with this channel in channel_ids) and then make a new post${byCopy}`;
