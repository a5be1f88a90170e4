import type { PostFault } from './faults.ts';
import { factsOf, isPlayed, platforms, type Platform } from './platforms.ts';

/** The networks that support a fault. */
const platformsFor = (fault: PostFault): readonly Platform[] =>
  platforms.filter((platform) => {
    switch (fault) {
      case 'processing slow':
        return isPlayed(platform);
      case '429 after a cancel':
        return factsOf(platform).isSequential === true;
      default:
        return true;
    }
  });

/** How long a post with this fault takes to end, in seconds, at worst and without another fault. */
export function recoverySeconds(fault: PostFault, platform: Platform): number {
  const { lostSeconds = 0, untoldSeconds = 0 } = factsOf(platform);
  return Math.max(
    usualSeconds[fault],
    isLost.has(fault) ? lostSeconds : 0,
    isUntold.has(fault) ? untoldSeconds : 0,
  );
}

/** After these faults the post may be live, and it is. */
const isLost: ReadonlySet<PostFault> = new Set([
  "killed after the network's commit",
  'killed before the record',
  'answer lost',
  'answer after the timeout',
  'request after the timeout',
  '500, done all the same',
]);

/** After these faults the post may be live, but it is not, or not yet. */
const isUntold: ReadonlySet<PostFault> = new Set([
  '500, not done',
  'request after the timeout',
  'killed after the intent',
  'suspended before the send',
  'terminated in mid-send',
]);

/** In seconds. A short run plans no fault that takes longer. */
const longestOfShortRun = 170;

/** The networks on which a fault can be applied in time. */
export const platformsInTime = (fault: PostFault, isLong: boolean): readonly Platform[] =>
  platformsFor(fault).filter(
    (platform) => isLong || recoverySeconds(fault, platform) <= longestOfShortRun,
  );

const usualSeconds: Readonly<Record<PostFault, number>> = {
  // Mastodon: the first retry comes too early to prove the post absent, and the second one after two minutes.
  '500, not done': 160,
  // The sweep scans the post 30 s after its due time, and again 50 s later.
  'terminated in mid-send': 110,
  'terminated asleep': 100,
  'suspended before the send': 100,
  'killed in a late record': 40,
  'cancelled as a late attempt begins': 20,
  '429 after a cancel': 20,
  'request after the timeout': 70,
  'killed after the intent': 70,
  'answer after the timeout': 35,
  'killed before the intent': 30,
  'killed in mid-upload': 30,
  'upload cut off': 20,
  'processing slow': 40,
  "killed after the network's commit": 30,
  'killed before the record': 30,
  '429 storm': 15,
  'answer lost': 5,
  '500, done all the same': 5,
  refused: 10,
};
