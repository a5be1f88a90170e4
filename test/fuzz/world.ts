import type { ExecutionContext } from 'ava';
import { openNetworks } from '../../networks/registry.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { storeMedia } from '../support/seed-media.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { storePosts } from './store-posts.ts';
import type { EgressOptions } from '../../runtime/egress/create-egress.ts';

/**
 * Resolves no name and refuses every connection. The fuzzer makes up URLs, some with public addresses, and must send
 * requests only to the API.
 */
const noWayOut: Required<Pick<EgressOptions, 'resolve' | 'connectTo'>> = {
  resolve: async () => [],
  connectTo: () => (_options, callback) => {
    const refused = Object.assign(new Error('The fuzzer refuses all connections.'), {
      code: 'ECONNREFUSED',
    });
    setImmediate(() => callback(refused, null));
  },
};

/** Ids in the owner's workspace, by the name of the fuzzer's dictionary. */
export type KnownIds = Readonly<
  Record<
    'channels' | 'posts' | 'failed_posts' | 'media' | 'webhooks' | 'deliveries' | 'keys',
    readonly string[]
  >
>;

export type FuzzWorld = {
  /** The API's, without a trailing slash. */
  readonly url: string;
  readonly owner: Client;
  /** A client of another workspace, which must never see the owner's objects. */
  readonly stranger: Client;
  readonly ids: KnownIds;
};

/** Starts an API without Temporal, with a workspace that has objects of every kind for calls to find. */
export async function makeWorld(t: ExecutionContext): Promise<FuzzWorld> {
  const temporalEnv = { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: 'none' };
  const punctual = await startApi(t, { temporalEnv, outside: noWayOut });
  const owner = await newClient(punctual, 'Owner');
  const stranger = await newClient(punctual, 'Stranger');
  return { url: punctual.url, owner, stranger, ids: await fillWorkspace(punctual, owner) };
}

async function fillWorkspace(punctual: Punctual, owner: Client): Promise<KnownIds> {
  const { workspaceId } = owner;
  const channels = await inTurn(Object.keys(await openNetworks({}).load()), (platform) =>
    addFakeChannel(punctual.deps, workspaceId, platform),
  );
  const posts = await storePosts(punctual.orm.em.fork(), workspaceId, channels);
  return {
    channels,
    posts: Object.values(posts).flat(),
    failed_posts: posts.failed,
    // A single endpoint, so that all deliveries below belong to it.
    webhooks: [await createWebhook(owner)],
    media: await inTurn(range(40), () => storeMedia(punctual, workspaceId)),
    keys: [(await owner.get('/me')).body.key.id],
    deliveries: await inTurn(range(20), () => storeDelivery(punctual, workspaceId)),
  };
}

async function createWebhook(owner: Client): Promise<string> {
  const events = ['post.failed', 'post.published'];
  const { body } = await owner.post('/webhooks', { url: 'https://example.com/hook', events });
  return body.webhook.id;
}

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

async function inTurn<T, R>(list: readonly T[], make: (item: T) => Promise<R>): Promise<R[]> {
  const made: R[] = [];
  for (const item of list) {
    made.push(await make(item));
  }

  return made;
}
