/** Why a channel did not get its post. Stable: programs compare these, so a code is never renamed. */
export const channelErrorCodes = [
  'content_refused',
  'media_refused',
  'duplicate',
  'access_lost',
  'disconnected',
  'permission_missing',
  'rate_limited',
  'paced',
  'network_unavailable',
  'processing',
  'too_late',
  'unconfirmed',
  'not_published',
  'internal',
] as const;
export type ChannelErrorCode = (typeof channelErrorCodes)[number];

/**
 * Whom a network's limit holds for: one account; all of us on one server, because it counts our address or our app
 * there; or all of us on the whole network.
 */
export type LimitScope = 'channel' | 'server' | 'network';

/**
 * Whether trying the same thing again later can help.
 *
 * `paced` is not a failure: this service holds the post back, so that posts of a channel or of a server go out in order, or
 * because the workspace has used its allowance of the day on the network.
 * `processing` is not a failure: the network has the post, and works on it until it can be seen.
 *
 * `unconfirmed` cannot: the network may already have the post, and a second send could double it. `not_published` is
 * what a person said of such a channel after a look; from then on a retry is safe, and theirs to ask for. `internal`
 * is a fault on our side, which an operator can mend while the channel waits. `disconnected`: the account's owner took it
 * away from here.
 */
export const canRetryLater: Readonly<Record<ChannelErrorCode, boolean>> = {
  content_refused: false,
  media_refused: false,
  duplicate: false,
  access_lost: false,
  disconnected: false,
  permission_missing: false,
  rate_limited: true,
  paced: true,
  network_unavailable: true,
  processing: true,
  too_late: false,
  unconfirmed: false,
  not_published: false,
  internal: true,
};

/**
 * What happens next after a failed try, and what a user can do: the end of a message that begins with what happened.
 *
 * @param retryAtMs When it is tried again by itself, in milliseconds since 1970; null when that was the end.
 */
export function failureAdvice(code: ChannelErrorCode, retryAtMs: number | null): string {
  if (retryAtMs === null) {
    return finalAdvice[code];
  }

  const again = code === 'processing' ? 'The network is asked again' : 'It is tried again';
  return `${again} by itself at ${new Date(retryAtMs).toISOString()}.`;
}

/**
 * The advice after a try that leaves open whether the network has the post.
 *
 * @param lookAtMs When the network is asked again, in milliseconds since 1970.
 */
export const adviceInDoubt = (lookAtMs: number): string =>
  `The network is asked again by itself at ${new Date(lookAtMs).toISOString()}, and nothing is sent before it says what became of it.`;

/** Once nothing happens by itself any more. */
export const finalAdvice: Readonly<Record<ChannelErrorCode, string>> = {
  content_refused:
    'It is not tried again by itself: make a new post with content that the network accepts.',
  media_refused: 'It is not tried again by itself: make a new post with another file.',
  duplicate:
    'It is not tried again by itself: make a new post with another text, if it is to go out once more.',
  access_lost: 'Connect the channel again, then retry the post.',
  disconnected: 'Connect the account again, then retry the post.',
  permission_missing: 'Connect the channel again with the permission to post, then retry the post.',
  rate_limited: 'Retry the post later.',
  paced: 'Retry the post later.',
  network_unavailable:
    'All automatic tries were made. Retry the post once the network works again.',
  processing:
    'The network has the post: look at the account, and if it is not there, retry the post.',
  too_late: 'It is given up, a day after its time. Retry the post if it is still to go out.',
  unconfirmed:
    'It is never sent again by itself, so that it cannot go out twice. Look at the account, then settle this channel: say where the post is, or that it is not there.',
  not_published: 'Retry the post to send it.',
  internal: 'Retry the post once whoever runs this service has mended it.',
};

type ErrorMeaning = {
  /** Whether a retry of the post can succeed as things stand; otherwise something has to change first. */
  readonly retryable: boolean;
  /** For programs that call the API. */
  readonly meaning: string;
};

/** The meaning of each code for callers. The OpenAPI document and docs/api.md show this table. */
export const errorMeanings: Readonly<Record<ChannelErrorCode, ErrorMeaning>> = {
  content_refused: {
    retryable: false,
    meaning: 'The network refused the content. Make a new post with other content.',
  },
  media_refused: {
    retryable: false,
    meaning: 'The network refused a file. Make a new post with another file.',
  },
  duplicate: {
    retryable: false,
    meaning: 'The network has an equal post of this account. Make a new post with another text.',
  },
  access_lost: {
    retryable: false,
    meaning:
      'The access of the channel was revoked or has expired. Connect the account again, then retry.',
  },
  disconnected: {
    retryable: false,
    meaning: 'The account was disconnected here. Connect it again, then retry.',
  },
  permission_missing: {
    retryable: false,
    meaning:
      'The access does not include what the post needs. Connect the account again with the permission, then retry.',
  },
  paced: {
    retryable: true,
    meaning:
      'This service holds the post back, so that the posts of a channel or of a server go out in order, or because the workspace has used its allowance of the day on the network. Wait.',
  },
  rate_limited: {
    retryable: true,
    meaning: 'The network limits how much is posted, and all automatic tries met the limit.',
  },
  network_unavailable: {
    retryable: true,
    meaning: 'The network did not answer, or answered with an error of its own.',
  },
  processing: {
    retryable: true,
    meaning: 'The network has the post and works on it, usually on a video. Wait.',
  },
  too_late: {
    retryable: true,
    meaning: 'A day has passed since the time of the post. Retry if it is still to go out.',
  },
  unconfirmed: {
    retryable: false,
    meaning:
      'The network may or may not have the post. Look at the account, then settle the channel by `POST /posts/{id}/settle`; a retry leaves it alone.',
  },
  not_published: {
    retryable: true,
    meaning: 'The channel was settled as not there. A retry sends what is missing.',
  },
  internal: { retryable: true, meaning: 'The fault is on the side of this service.' },
};

/** For the document. */
export const errorCodesDescription = `Why the channel does not have the post. ${channelErrorCodes
  .map((code) => `\`${code}\`: ${errorMeanings[code].meaning}`)
  .join(' ')}`;
