/** The networks, by the name that a channel's `platform` has. */
export const platforms = ['x', 'linkedin', 'bluesky', 'mastodon', 'youtube'] as const;
export type Platform = (typeof platforms)[number];

/** Networks where a post stands alone: a thread goes out as one post there. */
const withoutThreads: ReadonlySet<string> = new Set<Platform>(['linkedin', 'youtube']);

export const hasThreads = (platform: string): boolean => !withoutThreads.has(platform);
