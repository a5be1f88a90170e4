/** How long before a grant expires its owner is warned, in milliseconds. */
export const warnBeforeMs = 7 * 24 * 3_600_000;

export const channelAccess = ['connected', 'at_risk', 'needs_reconnect'] as const;
type ChannelAccess = (typeof channelAccess)[number];

/** A channel's access. `expiresAt` is null when the access does not expire, and when it is already lost. */
export type ChannelAccessState = { readonly state: ChannelAccess; readonly expiresAt: Date | null };

/** @param endsAt When the grant expires; null when it never does or the network does not say. */
export function channelAccessOf(
  state: 'connected' | 'needs_reconnect',
  endsAt: Date | null,
  now: Date,
): ChannelAccessState {
  if (state === 'needs_reconnect') {
    return { state, expiresAt: null }; // The access is already lost, whatever expiry is stored.
  }

  const isAtRisk = endsAt !== null && endsAt.getTime() - warnBeforeMs <= now.getTime();
  return { state: isAtRisk ? 'at_risk' : state, expiresAt: endsAt };
}
