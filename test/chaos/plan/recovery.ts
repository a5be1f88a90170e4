import type { PostFault } from './faults.ts';
import { isPlayed, isSequential, platforms, type Platform } from './platforms.ts';

/** Where a fault can come about. */
const platformsFor = (fault: PostFault): readonly Platform[] =>
  platforms.filter((platform) => {
    switch (fault) {
      case 'processing slow':
        return isPlayed(platform);
      case '429 after a cancel':
        return isSequential(platform);
      default:
        return true;
    }
  });

/**
 * Until a post that met this fault is through, in seconds: at worst, and with nothing else going wrong.
 *
 * What is not to be seen on YouTube is not believed to be absent for five minutes. On LinkedIn some accounts see none of
 * their posts, so that what became of one is told when it is sent again: after a minute, or two where that was too early.
 */
export function recoverySeconds(fault: PostFault, platform: Platform): number {
  const usual = usualSeconds[fault];
  switch (platform) {
    case 'youtube':
      return isUntold.has(fault) ? 480 : usual;
    case 'linkedin':
      return isLost.has(fault) ? Math.max(usual, 150) : usual;
    default:
      return usual;
  }
}

/** After these the post may be there, and is. */
const isLost: ReadonlySet<PostFault> = new Set([
  "killed after the network's commit",
  'killed before the record',
  'answer lost',
  'answer after the timeout',
  'request after the timeout',
  '500, done all the same',
]);

/** After these it may be there, and is not or not yet. */
const isUntold: ReadonlySet<PostFault> = new Set([
  '500, not done',
  'request after the timeout',
  'killed after the intent',
  'suspended before the send',
  'terminated in mid-send',
]);

/** A run in which posts have to be through soon has no others, in seconds. */
const longestOfShortRun = 170;

/** Where a fault can come about in time. */
export const platformsInTime = (fault: PostFault, isLong: boolean): readonly Platform[] =>
  platformsFor(fault).filter(
    (platform) => isLong || recoverySeconds(fault, platform) <= longestOfShortRun,
  );

const usualSeconds: Readonly<Record<PostFault, number>> = {
  // Mastodon: the first retry comes too early to be sure that nothing will appear, the second after two minutes.
  '500, not done': 160,
  // The sweep looks for it 30 s after its time, and once more 50 s later.
  'terminated in mid-send': 110,
  'terminated asleep': 100,
  'suspended before the send': 100,
  'killed in a late record': 40,
  'cancelled as a late try begins': 20,
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
