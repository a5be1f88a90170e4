import type { ChannelOutcome } from '../../activities/publish-channel/record-failure.ts';
import type { Attempted } from './attempt.ts';
import { type ClaimedPost, type ClockedChannel } from './claimed-posts.ts';
import { fakeNetwork } from './networks.ts';
import { poll } from './poll.ts';

/** Has a unique name, because a server's slots are shared by all workspaces. */
export const newNetwork = () => Object.assign(fakeNetwork(), { id: crypto.randomUUID() });

/** A network that holds all requests until the test releases them. */
export function hangingNetwork() {
  const network = newNetwork();
  const answer = Promise.withResolvers<void>();
  const so = { underWay: 0 };
  const { prepare } = network;
  return Object.assign(network, {
    so,
    answer: answer.resolve,
    prepare: async (...args: Parameters<typeof prepare>) => {
      so.underWay += 1;
      await answer.promise;
      so.underWay -= 1;
      return prepare(...args);
    },
  });
}

export const untilUnderWay = ({ so }: ReturnType<typeof hangingNetwork>, count: number) =>
  poll(
    async () => so.underWay,
    (underWay) => underWay >= count,
  );

export const postsOf = async (channel: ClockedChannel, count: number): Promise<ClaimedPost[]> => {
  const posts: ClaimedPost[] = [];
  for (let number = 1; number <= count; number += 1) {
    posts.push(await channel.newPost([`Post ${number}`]));
  }

  return posts;
};

/** Begins to publish one post after the other; each starts when the earlier ones are under way. */
export async function beginEach(
  network: ReturnType<typeof hangingNetwork>,
  posts: readonly ClaimedPost[],
): Promise<Promise<Attempted<ChannelOutcome>>[]> {
  const attempts: Promise<Attempted<ChannelOutcome>>[] = [];
  for (const post of posts) {
    attempts.push(post.attempt());
    await untilUnderWay(network, attempts.length);
  }

  return attempts;
}
