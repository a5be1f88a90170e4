/** So long before a person has to connect a channel again they are told, in milliseconds. */
export const warnBeforeMs = 7 * 24 * 3_600_000;

export const channelAccess = ['connected', 'at_risk', 'needs_reconnect'] as const;
type ChannelAccess = (typeof channelAccess)[number];

/** How a channel's access stands, and when a person has to connect it again: null for never, or at once. */
export type Access = { readonly state: ChannelAccess; readonly expiresAt: Date | null };

/** @param endsAt When what the network handed out ends; null for never, and where the network does not say. */
export function accessOf(
  state: 'connected' | 'needs_reconnect',
  endsAt: Date | null,
  now: Date,
): Access {
  if (state === 'needs_reconnect') {
    return { state, expiresAt: null }; // What was to end later is over before its time.
  }

  const isAtRisk = endsAt !== null && endsAt.getTime() - warnBeforeMs <= now.getTime();
  return { state: isAtRisk ? 'at_risk' : state, expiresAt: endsAt };
}
