/** Why a channel did not get its post. Stable: programs compare these, so a code is never renamed. */
export const channelErrorCodes = [
  'content_refused',
  'media_refused',
  'duplicate',
  'access_lost',
  'permission_missing',
  'rate_limited',
  'network_unavailable',
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
 * `unconfirmed` cannot: the network may already have the post, and a second send could double it. `not_published` is
 * what a person said of such a channel after a look; from then on a retry is safe, and theirs to ask for. `internal`
 * is a fault on our side, which an operator can mend while the channel waits.
 */
export const canRetryLater: Readonly<Record<ChannelErrorCode, boolean>> = {
  content_refused: false,
  media_refused: false,
  duplicate: false,
  access_lost: false,
  permission_missing: false,
  rate_limited: true,
  network_unavailable: true,
  too_late: false,
  unconfirmed: false,
  not_published: false,
  internal: true,
};
