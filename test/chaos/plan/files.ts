import type { Random } from '../../support/simulation/random.ts';
import { needsFile } from './faults.ts';
import { factsOf } from './platforms.ts';
import { fileNames, type ChannelPlan, type PostPlan } from './post-plan.ts';

/** Whether the channel's network takes only posts with a video. */
export const needsVideo = (channel: ChannelPlan | undefined): boolean =>
  channel !== undefined && factsOf(channel.platform).needsVideo === true;

/**
 * Adds the files that the post's networks and faults need, and files to some other posts: one video, or up to three
 * pictures, because a network that joins a thread has all of them in one post.
 */
export function withFiles(
  random: Random,
  post: PostPlan,
  channels: readonly ChannelPlan[],
): PostPlan {
  const part = partWithFile(post) ?? 1 + random.below(post.parts);
  if (post.channels.some((channel) => needsVideo(channels[channel]))) {
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

/** The part that needs a file for a fault; all such faults of a post are on one part. */
export const partWithFile = ({ faults }: Pick<PostPlan, 'faults'>): number | undefined =>
  faults.find(({ fault }) => needsFile(fault))?.part;
