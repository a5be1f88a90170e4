import { finalizePost } from '../../../activities/finalize-post.ts';
import type { PublishJob } from '../../../activities/publish-channel/job.ts';
import { finishUnpublish } from '../../../activities/unpublish/unpublish-request.ts';
import { Channel } from '../../../db/entities/channels.ts';
import { recordPostEvent } from '../../../db/record-event.ts';
import { recordConnected } from '../../../services/channels/connect-channel.ts';
import { storeGrant } from '../../../services/channels/grants.ts';
import { markAccessLost } from '../../../services/channels/mark-access.ts';
import { sweepGrants } from '../../../services/channels/sweep-grants.ts';
import type { Client } from '../../support/client.ts';
import type { Punctual } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

const outcomes = {
  'post.published': ['published', 'published'],
  'post.partial': ['published', 'failed'],
  'post.failed': ['failed', 'unconfirmed'],
} as const;
const removed = 'post.unpublished';
const atRisk = 'channel.at_risk';
const lost = 'channel.needs_reconnect';
const gone = 'channel.disconnected';
const more = ['post.scheduled', 'post.cancelled', 'post.retrying', 'channel.connected'];

/** Types of the events that `makeEvents` emits, in this order. */
export const madeTypes = [...Object.keys(outcomes), removed, atRisk, lost, gone, ...more];

/** Emits one event of each type. @returns the pending deliveries. */
export async function makeEvents(punctual: Punctual, client: Client): Promise<string[]> {
  const { orm, deps } = punctual;
  const { workspaceId } = client;
  const channels = [
    await storeChannel(punctual, workspaceId),
    await storeChannel(punctual, workspaceId),
  ];
  const deliveryIds: string[] = [];
  const postIds: string[] = [];
  const outOf = async (type: string): Promise<string[]> => {
    const sql = `select d.id from deliveries d join events e on e.id = d.event_id
      where e.workspace_id = ? and e.type = ?`;
    const rows = await orm.em.fork().execute<{ id: string }[]>(sql, [workspaceId, type]);
    return rows.map(({ id }) => id);
  };
  for (const statuses of Object.values(outcomes)) {
    const request = { body: 'Hello.', channel_ids: channels, schedule_in_minutes: 60 };
    const postId: string = (await client.post('/posts', request)).body.post.id;
    const em = orm.em.fork();
    await em.execute(`update posts set status = 'publishing' where id = ?`, [postId]);
    for (const [index, status] of statuses.entries()) {
      await em.execute('update post_channels set status = ? where post_id = ? and channel_id = ?', [
        status,
        postId,
        channels[index],
      ]);
    }

    const end = { workspaceId, postId, revision: 1 };
    deliveryIds.push(...(await finalizePost(deps, end)).deliveryIds);
    postIds.push(postId);
  }

  const [postId = ''] = postIds;
  await client.post(`/posts/${postId}/unpublish`, {});
  await finishUnpublish(deps, { workspaceId, postId, stopped: 'all' });
  deliveryIds.push(...(await outOf(removed)));

  deliveryIds.push(...(await warnOf(punctual, workspaceId, channels[1] ?? '')));
  const target = { workspaceId, channelId: channels[0] } as PublishJob;
  await orm.em
    .fork()
    .transactional((em) => markAccessLost(em, deps, target, 'The access token was revoked.'));
  deliveryIds.push(...(await outOf(lost)));

  await client.delete(`/channels/${channels[1]}`);
  deliveryIds.push(...(await outOf(gone)));
  return [...deliveryIds, ...(await makeMore(punctual, client, channels[0] ?? ''))];
}

/** The events of posts that go on, and of a connection. @returns a delivery of each type. */
async function makeMore(
  { orm, deps }: Punctual,
  client: Client,
  channel_id: string,
): Promise<string[]> {
  const { workspaceId } = client;
  const request = { body: 'Hello.', channel_ids: [channel_id], schedule_in_minutes: 60 };
  const postId: string = (await client.post('/posts', request)).body.post.id;
  const scope = { workspaceId, postId };
  const em = orm.em.fork();
  await recordPostEvent(em.fork(), scope, 'post.retrying', deps, { channel_id });
  await recordConnected(em.fork(), await em.findOneOrFail(Channel, channel_id));
  await client.post(`/posts/${postId}/cancel`);
  const deliveryIds: string[] = [];
  for (const type of more) {
    const [row] = await em.execute<{ id: string }[]>(
      `select d.id from deliveries d join events e on e.id = d.event_id
       where e.workspace_id = ? and e.type = ? limit 1`,
      [workspaceId, type],
    );
    deliveryIds.push(row?.id ?? '');
  }
  return deliveryIds;
}

/** A channel whose access ends in three days. @returns the pending deliveries. */
async function warnOf(
  { orm, deps }: Punctual,
  workspaceId: string,
  channelId: string,
): Promise<string[]> {
  const em = orm.em.fork();
  const endsAtMs = deps.now().getTime() + 3 * 24 * 3_600_000;
  const grant = {
    accessToken: 'planted',
    accessEndsAtMs: endsAtMs,
    refreshToken: null,
    endsAtMs,
  };
  await storeGrant(em, deps.sealer, { workspaceId, channelId }, grant);
  await sweepGrants(deps);
  const rows = await em.execute<{ id: string }[]>(
    `select d.id from deliveries d join events e on e.id = d.event_id where e.type = ? and e.channel_id = ?`,
    [atRisk, channelId],
  );
  return rows.map(({ id }) => id);
}
