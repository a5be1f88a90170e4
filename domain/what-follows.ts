import type { ChannelErrorCode } from './channel-error.ts';

/**
 * What follows from a failed try and what a user can do, as the end of a message that begins with what happened.
 *
 * @param retryAtMs When it is tried again by itself, in milliseconds since 1970; null when that was the end.
 */
export function whatFollows(code: ChannelErrorCode, retryAtMs: number | null): string {
  return retryAtMs === null
    ? whatToDo[code]
    : `It is tried again by itself at ${new Date(retryAtMs).toISOString()}.`;
}

/**
 * What follows from a try after which nobody knows whether the network has the post.
 *
 * @param lookAtMs When the network is asked again, in milliseconds since 1970.
 */
export const whatFollowsInDoubt = (lookAtMs: number): string =>
  `The network is asked again by itself at ${new Date(lookAtMs).toISOString()}, and nothing is sent before it says what became of it.`;

/** Once nothing happens by itself any more. */
export const whatToDo: Readonly<Record<ChannelErrorCode, string>> = {
  content_refused:
    'It is not tried again by itself: make a new post with content that the network accepts.',
  media_refused: 'It is not tried again by itself: make a new post with another file.',
  duplicate:
    'It is not tried again by itself: make a new post with another text, if it is to go out once more.',
  access_lost: 'Connect the channel again, then retry the post.',
  permission_missing: 'Connect the channel again with the permission to post, then retry the post.',
  rate_limited: 'Retry the post later.',
  network_unavailable:
    'All automatic tries were made. Retry the post once the network works again.',
  too_late: 'It is given up, a day after its time. Retry the post if it is still to go out.',
  unconfirmed:
    'It is never sent again by itself, so that it cannot go out twice. Look at the account, then settle this channel: say where the post is, or that it is not there.',
  not_published: 'Retry the post to send it.',
  internal: 'Retry the post once whoever runs this service has mended it.',
};
