export type Platform = 'mastodon' | 'x' | 'bluesky' | 'linkedin' | 'youtube';

/** Every network of a run. */
export const platforms: readonly Platform[] = ['mastodon', 'x', 'bluesky', 'linkedin', 'youtube'];

/** Networks that the sandbox plays; the others run on real servers. */
const played: ReadonlySet<Platform> = new Set(['x', 'linkedin', 'youtube']);
export type PlayedPlatform = 'x' | 'linkedin' | 'youtube';

export const isPlayed = (platform: Platform): platform is PlayedPlatform => played.has(platform);

/**
 * Networks whose grants are refreshed at the sandbox. Other accounts of Bluesky are on a real server, with app
 * passwords.
 */
export type SandboxPlatform = PlayedPlatform | 'bluesky';

/** Networks that accept each refresh token once, and end the grant when a token is sent again. */
export const isRotating = (platform: Platform): boolean =>
  platform === 'x' || platform === 'bluesky';

/** Whether the network has a thread as one post with all of its texts and files. */
export const joinsThreads = (platform: Platform): boolean =>
  platform === 'linkedin' || platform === 'youtube';

/** Whether the parts of a thread are sent one after the other. */
export const isSequential = (platform: Platform): boolean =>
  platform === 'mastodon' || platform === 'x';
