import type { Punctual } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import type { Owned } from '../owned.ts';
import type { RecordAnswer } from './record-answer.ts';

/** Every response of the channel and network calls that needs a case of its own. */
export async function channels(
  punctual: Punctual,
  { client, channel, link }: Owned,
  recordAnswer: RecordAnswer,
) {
  const unknown = crypto.randomUUID();
  recordAnswer('get /channels', await client.get('/channels'));
  recordAnswer('get /channels/{id}', await client.get(`/channels/${channel}`));
  const edit = async (id: string, options: unknown) =>
    recordAnswer('patch /channels/{id}', await client.patch(`/channels/${id}`, { options }));
  await edit(channel, { visibility: 'unlisted' });
  await edit(channel, { nothing: 1 });
  await edit(channel, 1);
  const youtube = { platform: 'youtube', handle: 'Ana' } as const;
  const video = await storeChannel(punctual, client.workspaceId, youtube);
  await edit(video, { thumbnail: unknown });
  await edit(unknown, null);
  await edit(channel, null);
  const connect = async (body: object) =>
    recordAnswer('post /channels/connect', await client.post('/channels/connect', body));
  await connect({ platform: 'mastodon' });
  for (const sandbox of [false, false, true]) {
    const body = { platform: 'mastodon', sandbox };
    const once = { 'idempotency-key': 'link' };
    recordAnswer('post /channels/connect', await client.post('/channels/connect', body, once));
  }

  await connect({ platform: 'nowhere' });
  await connect({ platform: 'mastodon', channel_id: unknown });
  await connect({ platform: 'x' });
  recordAnswer('get /channels/connect/{link_id}', await client.get(`/channels/connect/${link}`));
  const reconnect = async (id: string, body: unknown) =>
    recordAnswer(
      'post /channels/{id}/reconnect',
      await client.post(`/channels/${id}/reconnect`, body),
    );
  await reconnect(video, { retry_posts: true });
  await reconnect(video, { retry_posts: 1 });
  await reconnect(unknown, {});
  await punctual.orm.em
    .fork()
    .execute(`update channels set state = 'needs_reconnect' where id = ?`, [video]);
  await reconnect(video, { retry_posts: true });
  for (const id of [video, video]) {
    recordAnswer('delete /channels/{id}', await client.delete(`/channels/${id}`));
  }

  const check = async (id: string) =>
    recordAnswer('post /channels/{id}/check', await client.post(`/channels/${id}/check`));
  await check(channel);
  await check(unknown);
  recordAnswer('get /networks', await client.get('/networks'));
  recordAnswer('get /networks', await client.get(`/networks?channel_id=${channel}`));
  recordAnswer('get /networks', await client.get(`/networks?channel_id=${unknown}`));
}
