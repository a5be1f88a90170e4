/** So long before a person has to connect a channel again they are told, in milliseconds. */
export const warnBeforeMs = 7 * 24 * 3_600_000;

export const channelAccess = ['connected', 'at_risk', 'needs_reconnect'] as const;
export type ChannelAccess = (typeof channelAccess)[number];

/**
 * How a channel's access stands.
 *
 * @param endsAt When a person has to connect it again; null for never, and where the network does not say.
 */
export const accessOf = (
  state: 'connected' | 'needs_reconnect',
  endsAt: Date | null,
  now: Date,
): ChannelAccess =>
  state === 'connected' && endsAt !== null && endsAt.getTime() - warnBeforeMs <= now.getTime()
    ? 'at_risk'
    : state;
