import type { ExecutionContext } from 'ava';
import { PostPart } from '../../db/entities/post-channels.ts';
import { NetworkError, type Readiness } from '../../networks/network.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { type FakeNetwork, fakeNetwork } from '../support/networks.ts';

const minute = 60_000;

export type Processing = FakeNetwork & { says: Readiness | NetworkError; polls: number };

/** A network that processes each post until the test sets another readiness. */
export function processingNetwork(): Processing {
  const network: Processing = Object.assign(fakeNetwork(), {
    says: { kind: 'processing', checkAfterMs: minute } as Readiness | NetworkError,
    polls: 0,
    readiness: async (): Promise<Readiness> => {
      network.polls += 1;
      if (network.says instanceof NetworkError) {
        throw network.says;
      }

      return network.says;
    },
  });
  return network;
}

/** A claimed post on a channel of this network. @param databaseUrl A migrated database. */
export async function processedPost(
  t: ExecutionContext,
  network: FakeNetwork,
  databaseUrl: string,
  ...texts: readonly string[]
) {
  const channel = await clockedChannel(t, network, databaseUrl);
  const post = await channel.newPost(texts.length > 0 ? texts : ['A film']);
  const em = () => channel.deps.orm.em.fork();
  const parts = async () => {
    const { id } = await post.row();
    return em().find(PostPart, { postChannelId: id }, { orderBy: { part: 'asc' } });
  };
  return { channel, post, parts };
}
