import type { ExecutionContext } from 'ava';
import type { ChannelOutcome } from '../../activities/publish-channel/record-failure.ts';
import type { Connection } from '../../networks/network.ts';
import type { Attempted } from './attempt.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from './claimed-posts.ts';
import { fakeNetwork, type FakeNetwork } from './networks.ts';
import { poll } from './poll.ts';
import { addFakeChannel } from './seed.ts';

/** Has a unique name, because a server's slots are shared by all workspaces. */
export const newNetwork = () => Object.assign(fakeNetwork(), { id: crypto.randomUUID() });

/** A network with one server that holds all requests until the test releases them. */
export function hangingNetwork(baseUrl = 'https://fake.example') {
  const network = newNetwork();
  const answer = Promise.withResolvers<void>();
  const so = { underWay: 0, most: 0 };
  const { prepare } = network;
  return Object.assign(network, {
    so,
    answer: answer.resolve,
    prepare: async (connection: Connection, ...more: [Parameters<typeof prepare>[1], number]) => {
      if (connection.baseUrl === baseUrl) {
        so.underWay += 1;
        so.most = Math.max(so.most, so.underWay);
        await answer.promise;
        so.underWay -= 1;
      }

      return prepare(connection, ...more);
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

/** Another workspace with a channel on the same network. */
export async function channelOfAnother(
  t: ExecutionContext,
  databaseUrl: string,
  network: FakeNetwork,
  baseUrl = 'https://fake.example',
): Promise<ClockedChannel> {
  const other = await clockedChannel(t, network, databaseUrl);
  const account = { baseUrl, remoteId: crypto.randomUUID() };
  const channelId = await addFakeChannel(other.deps, other.workspaceId, network.id, account);
  return {
    ...other,
    channelId,
    newPost: (texts, files, goesTo = channelId) => other.newPost(texts, files, goesTo),
  };
}

export const countOf = (attempted: readonly { readonly kind: string }[], kind: string): number =>
  attempted.filter((one) => one.kind === kind).length;

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
