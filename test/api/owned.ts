import { storeKey } from '../../services/keys/write-keys.ts';
import { newClient, type Client } from '../support/client.ts';
import type { Punctual } from '../support/punctual.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { storeMedia } from '../support/seed-media.ts';
import { endedPost, storeChannel } from '../support/seed.ts';
import { newId } from '../../db/new-id.ts';

/** A port that the test's API may send webhooks to. It has no listener. */
export const silentPort = 18_443;

/** One resource of each kind of a workspace. */
export type Owned = {
  readonly client: Client;
  readonly channel: string;
  readonly draft: string;
  readonly scheduled: string;
  /** A post that failed on its channel. */
  readonly failed: string;
  readonly published: string;
  /** A post with an unconfirmed channel. */
  readonly unconfirmed: string;
  readonly media: string;
  readonly webhook: string;
  /** A failed delivery to the webhook. */
  readonly delivery: string;
  /** Another API key than the client's. */
  readonly key: string;
  readonly event: string;
  /** A link that connects an account. */
  readonly link: string;
};

/** Creates a workspace with one of everything. The API must allow `silentPort`. */
export async function ownedBy(punctual: Punctual): Promise<Owned> {
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channel = await storeChannel(punctual, workspaceId);
  const time = { channel_ids: [channel], schedule_in_minutes: 600 };
  const idOf = async (body: object): Promise<string> =>
    (await client.post('/posts', body)).body.post.id;
  const hook = { url: `http://127.0.0.1:${silentPort}/hook`, events: ['post.failed'] };
  const webhook: string = (await client.post('/webhooks', hook)).body.webhook.id;
  return {
    client,
    channel,
    draft: await idOf({ body: 'A draft', channel_ids: [channel] }),
    scheduled: await idOf({ body: 'Later', ...time }),
    failed: await endedPost(punctual, client, new Map([[channel, 'failed']])),
    published: await endedPost(punctual, client, new Map([[channel, 'published']])),
    unconfirmed: await endedPost(punctual, client, new Map([[channel, 'unconfirmed']])),
    media: await storeMedia(punctual, workspaceId),
    webhook,
    delivery: await storeDelivery(punctual, workspaceId),
    key: await anotherKey(punctual, workspaceId),
    event: (await client.get('/events')).body.events[0].id,
    link: await storeLink(punctual, workspaceId),
  };
}

/** @returns its id. */
async function anotherKey({ orm }: Punctual, workspaceId: string): Promise<string> {
  const none = { name: null, scopes: null, channelIds: null, expiresAt: null };
  return (await storeKey(orm.em.fork(), workspaceId, none)).key.id;
}

/** Not by the API, which of these tests only some have a network for. */
async function storeLink({ orm }: Punctual, workspaceId: string): Promise<string> {
  const id = newId();
  await orm.em.fork().execute(
    `insert into connect_links
       (id, workspace_id, platform, token_hash, "values", at_sandbox, status, expires_at, created_at)
     values (?, ?, 'mastodon', ?, '{}', false, 'open', now() + interval '15 minutes', now())`,
    [id, workspaceId, id],
  );
  return id;
}
