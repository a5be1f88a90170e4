/** The networks, by the name that a channel's `platform` has. */
export const platforms = ['x', 'linkedin', 'bluesky', 'mastodon', 'youtube'] as const;
export type Platform = (typeof platforms)[number];
