import type { Random } from '../../support/simulation/random.ts';
import { needsFile } from './faults.ts';
import type { Platform } from './platforms.ts';
import { fileNames, type ChannelPlan, type PostPlan } from './post-plan.ts';

const isOn = (
  { channels: numbers }: Pick<PostPlan, 'channels'>,
  channels: readonly ChannelPlan[],
  platform: Platform,
): boolean => numbers.some((channel) => channels[channel]?.platform === platform);

/**
 * The post with the files that its networks and its faults need, and some others with files that nothing needs: one
 * video, or up to three pictures, since a network that joins a thread has all of them in one post.
 */
export function withFiles(
  random: Random,
  post: PostPlan,
  channels: readonly ChannelPlan[],
): PostPlan {
  const part = partWithFile(post) ?? 1 + random.below(post.parts);
  if (isOn(post, channels, 'youtube')) {
    return { ...post, files: [{ name: 'video', part }] };
  }
  if (partWithFile(post) === undefined && !random.chance(0.4)) {
    return post;
  }
  if (random.chance(0.2)) {
    return { ...post, files: [{ name: 'video', part }] };
  }

  const [, first, ...more] = fileNames;
  const others = more.slice(0, random.below(more.length + 1));
  const files = others.map((name) => ({ name, part: 1 + random.below(post.parts) }));
  return { ...post, files: [{ name: first, part }, ...files] };
}

/** On which part a fault needs a file; all of a post's faults that need one are on the same part. */
export const partWithFile = ({ faults }: Pick<PostPlan, 'faults'>): number | undefined =>
  faults.find(({ fault }) => needsFile(fault))?.part;
