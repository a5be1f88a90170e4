import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { claimPost } from '../../../activities/claim-post.ts';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import type { ChannelErrorCode } from '../../../domain/channel-error.ts';
import { NetworkError } from '../../../networks/network.ts';
import { attempt } from '../../support/attempt.ts';
import { newClient, type Client } from '../../support/client.ts';
import { fakeNetwork, type Fate } from '../../support/networks.ts';
import type { Punctual } from '../../support/punctual.ts';
import { endedPost, fakeChannel, storeChannel } from '../../support/seed.ts';
import { adminOf } from './admin.ts';

const logger = new DefaultLogger('ERROR');

/** Runs the steps of a post's workflow once each, so that tests of the commands need no Temporal and no waiting. */
export async function publish(
  { deps }: Punctual,
  workspaceId: string,
  postId: string,
): Promise<void> {
  const claimed = await claimPost(deps, { workspaceId, postId, nowMs: Date.now(), revision: 1 });
  if (claimed.kind !== 'go') {
    throw new Error(`The claim said ${claimed.kind}.`);
  }

  const { targets, revision } = claimed;
  for (const { postChannelId } of targets) {
    const request = { workspaceId, postId, postChannelId };
    await new MockActivityEnvironment(undefined, { logger }).run(publishChannel, deps, request);
  }

  const end = { workspaceId, postId, revision };
  const { deliveryIds } = await finalizePost(deps, end);
  for (const deliveryId of deliveryIds) {
    await attempt(attemptDelivery, deps, { workspaceId, deliveryId });
  }
}

/** A post on one channel that did not end as published. */
export async function badlyEndedPost(punctual: Punctual, fate: Fate) {
  const network = fakeNetwork();
  network.fates.push(fate);
  network.blind = new NetworkError('unconfirmed', 'Nobody can tell.', { accepted: 'unknown' });
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channel = await fakeChannel(punctual, workspaceId, network);
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const id = String((await client.post('/posts', content)).body.post.id);
  await publish(punctual, workspaceId, id);
  const show = async () => (await client.get(`/posts/${id}`)).body.post;
  return { client, channel, network, id, show };
}

/** A workspace whose posts fail on request, and functions that replay them. */
export async function workspaceOfFailures(punctual: Punctual) {
  const em = punctual.orm.em.fork();
  const { call } = adminOf(punctual);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  /** A post that failed for these reasons this long ago. @param on Its only channel, instead of new ones. */
  const failed = async (
    codes: readonly ChannelErrorCode[],
    { minutesAgo = 5, by = client, on }: { minutesAgo?: number; by?: Client; on?: string } = {},
  ): Promise<string> => {
    const outcomes = new Map<string, 'failed' | 'unconfirmed'>();
    for (const code of codes) {
      const channel = on ?? (await storeChannel(punctual, by.workspaceId));
      outcomes.set(channel, code === 'unconfirmed' ? 'unconfirmed' : 'failed');
    }

    const id = await endedPost(punctual, by, outcomes);
    for (const [index, channel] of [...outcomes.keys()].entries()) {
      const sql = 'update post_channels set error_code = ? where post_id = ? and channel_id = ?';
      await em.execute(sql, [codes[index], id, channel]);
    }

    const ended = `now() - ? * interval '1 minute'`;
    await em.execute(
      `update posts set updated_at = ${ended}, scheduled_at = ${ended} where id = ?`,
      [minutesAgo, minutesAgo, id],
    );
    return id;
  };
  const statuses = async (id: string): Promise<string[]> =>
    (await client.get(`/posts/${id}`)).body.post.channels.map(
      (one: { status: string }) => one.status,
    );
  const replay = (...words: string[]) =>
    call('post', 'replay', ...words, '--workspace', workspaceId);
  /** For all workspaces of the database. */
  const replayAll = (...words: string[]) => call('post', 'replay', ...words);
  return { em, client, failed, statuses, replay, replayAll };
}
