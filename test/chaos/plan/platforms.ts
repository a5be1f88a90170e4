export type Platform = 'mastodon' | 'x' | 'bluesky' | 'linkedin' | 'youtube';

/** Every network of a run. */
export const platforms: readonly Platform[] = ['mastodon', 'x', 'bluesky', 'linkedin', 'youtube'];

/** Those that the sandbox plays; the others run on servers that are made for them. */
const played: ReadonlySet<Platform> = new Set(['x', 'linkedin', 'youtube']);
export type PlayedPlatform = 'x' | 'linkedin' | 'youtube';

export const isPlayed = (platform: Platform): platform is PlayedPlatform => played.has(platform);

/** Networks whose grants are refreshed at the sandbox. Bluesky's accounts are otherwise on a real server, with app passwords. */
export type SandboxPlatform = PlayedPlatform | 'bluesky';

/** Networks that take each refresh token once, and end the grant when they see one again. */
export const isRotating = (platform: Platform): boolean =>
  platform === 'x' || platform === 'bluesky';

/** Whether a thread is one post there, with all of its texts and files. */
export const joinsThreads = (platform: Platform): boolean =>
  platform === 'linkedin' || platform === 'youtube';

/** Whether the parts of a thread are asked for one after the other. */
export const isSequential = (platform: Platform): boolean =>
  platform === 'mastodon' || platform === 'x';
