import { factsOf, type Platform } from '../plan/platforms.ts';
import type { LinePlatform } from './line-platform.ts';

/** A line to a network that the sandbox plays. Each account has a server of its own, named like the line. */
export const playedLine = (platform: Platform, account: string): LinePlatform => ({
  ...factsOf(platform).wire(),
  platform,
  accountOf: () => account,
});

/** A line to the real server of all accounts of a network. */
export function realLine(platform: Platform): LinePlatform {
  const { wire, realAccountOf } = factsOf(platform);
  if (!realAccountOf) {
    throw new Error(`The sandbox plays ${platform}.`);
  }

  return { ...wire(), platform, accountOf: realAccountOf };
}
