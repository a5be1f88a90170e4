import type { Platform } from '../domain/platform.ts';
import { rules as bluesky } from './bluesky/rules.ts';
import type { Rules } from './content-rules.ts';
import { rules as linkedin } from './linkedin/rules.ts';
import { rules as mastodon } from './mastodon/rules.ts';
import { rules as x } from './x/rules.ts';
import { rules as youtube } from './youtube/rules.ts';

/** What every network accepts, also of those that have no adapter yet. */
export const rulesOf: Readonly<Record<Platform, Rules>> = {
  x,
  linkedin,
  bluesky,
  mastodon,
  youtube,
};
