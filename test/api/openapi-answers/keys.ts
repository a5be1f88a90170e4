import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { scopes } from '../../../domain/api-keys.ts';
import { clientFor, type Client } from '../../support/client.ts';
import type { Contract } from '../../support/contract.ts';
import type { Punctual } from '../../support/punctual.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import type { Owned } from '../owned.ts';
import type { RecordAnswer } from './record-answer.ts';
import { eachCall } from './refusals.ts';

/** Every response of the key calls, and the refusals by the rights of a key. */
export async function keys(
  punctual: Punctual,
  { client, channel }: Owned,
  contract: Contract,
  recordAnswer: RecordAnswer,
): Promise<void> {
  const { workspaceId } = client;
  const keyWith = (rights: Parameters<typeof createApiKey>[2]) =>
    createApiKey(punctual.orm.em.fork(), workspaceId, rights);
  await eachCall(punctual.url, { key: await keyWith({ scopes: [] }) }, contract, recordAnswer);

  const other = await storeChannel(punctual, workspaceId);
  const both = { body: 'On both', channel_ids: [channel, other] };
  const post = (await client.post('/posts', both)).body.post.id;
  const restricted = clientFor(
    punctual.url,
    workspaceId,
    await keyWith({ channelIds: [channel], scopes: scopes.filter((one) => one !== 'webhooks') }),
  );
  for (const [path, item] of Object.entries(contract.document.paths)) {
    for (const method of Object.keys(item)) {
      if (path.startsWith('/posts/{id}') && method !== 'get') {
        const at = path.replace('{id}', post);
        const calls = { post: () => restricted.post(at, {}), patch: () => restricted.patch(at, {}), delete: () => restricted.delete(at) }; // prettier-ignore
        recordAnswer(`${method} ${path}`, await calls[method as keyof typeof calls]());
      }
    }
  }

  await restrictedCalls(punctual, restricted, { client, channel, other }, recordAnswer);

  const fresh = { name: 'Ours', scopes: ['keys'] };
  const { key } = (await client.post('/keys', fresh)).body;
  const at = `/keys/${key.id}`;
  const weak = clientFor(punctual.url, workspaceId, key.key);
  const wrong = { scopes: ['media'], channel_ids: [crypto.randomUUID()] };
  for (const name of ['Once', 'Once', 'Other']) {
    const once = { 'idempotency-key': 'key' };
    recordAnswer('post /keys', await client.post('/keys', { ...fresh, name }, once));
  }

  recordAnswer('get /keys', await client.get('/keys'));
  recordAnswer('post /keys', await client.post('/keys', { ...fresh, ...wrong }));
  recordAnswer('post /keys', await weak.post('/keys', { ...fresh, scopes: ['media'] }));
  recordAnswer('patch /keys/{id}', await weak.patch(at, { scopes: ['media'] }));
  recordAnswer('patch /keys/{id}', await client.patch(at, wrong));
  recordAnswer('patch /keys/{id}', await client.patch(at, { name: 'Theirs' }));
  recordAnswer('patch /keys/{id}', await client.patch(`/keys/${crypto.randomUUID()}`, fresh));
  const all = (await client.get('/keys')).body.keys[0].id;
  recordAnswer('delete /keys/{id}', await weak.delete(`/keys/${all}`));
  recordAnswer('delete /keys/{id}', await weak.delete(at));
  for (let n = 0; n < 50; n += 1) {
    recordAnswer('post /keys', await client.post('/keys', fresh));
  }
}

/** The other refusals of a key for one channel. */
async function restrictedCalls(
  punctual: Punctual,
  restricted: Client,
  { client, channel, other }: Pick<Owned, 'client' | 'channel'> & { readonly other: string },
  recordAnswer: RecordAnswer,
): Promise<void> {
  const connect = await restricted.post('/channels/connect', { platform: 'mastodon' });
  recordAnswer('post /channels/connect', connect);

  recordAnswer('get /audit', await restricted.get('/audit'));
  const file = await storeMedia(punctual, client.workspaceId);
  const waiting = { body: 'x', channel_ids: [other], media_ids: [file], schedule_in_minutes: 600 };
  await client.post('/posts', waiting);
  const described = await restricted.patch(`/media/${file}`, { alt_text: 'A cat.' });
  recordAnswer('patch /media/{id}', described);

  const moved = { body: 'Moved', channel_ids: [channel], idempotency_key: 'moved' };
  const { id } = (await restricted.post('/posts', moved)).body.post;
  await client.patch(`/posts/${id}`, { channel_ids: [other] });
  recordAnswer('post /posts', await restricted.post('/posts', moved));
}
