import type { ExecutionContext } from 'ava';
import test from 'ava';
import { claimDue } from '../../../activities/refresh-metrics/due-reads.ts';
import type { Platform } from '../../../networks/registry.ts';
import { read, measuredNetwork } from '../../activities/measured-network.ts';
import { postMetricsWorkflowId } from '../../../workflows/messages.ts';
import { newClient } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startApi, startWorkers } from '../../support/punctual.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);
const second = 1000;

/** A post that is published on two channels and failed on a third, stored without sending. */
async function publishedPost(t: ExecutionContext, platform: Platform = 'mastodon') {
  const { punctual } = api;
  const client = await api.newClient();
  const channels = [];
  for (let nr = 0; nr < 3; nr += 1) {
    channels.push(await storeChannel(punctual, client.workspaceId, { platform }));
  }

  const [one = '', two = '', three = ''] = channels;
  const outcomes = new Map([
    [one, 'published'],
    [two, 'published'],
    [three, 'failed'],
  ] as const);
  const id = await endedPost(punctual, client, outcomes);
  const em = punctual.orm.em.fork();
  await em.execute(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, remote_id, url, created_at, updated_at)
      select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sent', 'x', 'null', id::text, 'https://social.test/1', now(), now()
      from post_channels where post_id = ?`,
    [id],
  );
  const set = (channel: string, sql: string): Promise<unknown> =>
    punctual.orm.em
      .fork()
      .execute(`update post_channels set ${sql} where post_id = ? and channel_id = ?`, [
        id,
        channel,
      ]);
  const refresh = async () => {
    const { status, body } = await client.post('/analytics/refresh', { post_id: id });
    t.is(status, 202);
    t.is(body.post_id, id);
    return body.channels as { channel_id: string; refresh: string; next_at: string | null }[];
  };
  return { client, id, one, two, set, refresh, punctual };
}

test('metrics of each published channel are queued, unless they were just read or the post is gone', async (t) => {
  const { one, two, set, refresh } = await publishedPost(t);
  const states = async () =>
    (await refresh()).map((channel) => [channel.channel_id, channel.refresh]);
  t.deepEqual(await states(), [
    [one, 'queued'],
    [two, 'queued'],
  ]);

  await set(one, `metrics_updated_at = now() - interval '30 seconds', metrics = '{}'`);
  await set(two, `metrics_updated_at = now() - interval '90 seconds', metrics = '{}'`);
  t.deepEqual(await states(), [
    [one, 'not_yet'],
    [two, 'queued'],
  ]);

  await set(two, 'gone_at = now(), next_metrics_at = null');
  const [, gone] = await refresh();
  t.like(gone, { refresh: 'gone', next_at: null });
});

test('a network that is read once a day reports its next read, which then happens', async (t) => {
  const { one, set, refresh, punctual } = await publishedPost(t, 'x');
  const nextAt = async () => {
    const sql = `select next_metrics_at from post_channels where channel_id = ?`;
    const [row] = await punctual.orm.em
      .fork()
      .execute<{ next_metrics_at: Date | null }[]>(sql, [one]);
    return row?.next_metrics_at?.toISOString();
  };
  const ago = (hours: number) => new Date(Date.now() - hours * 3600 * second).toISOString();
  const readAt = ago(20);
  await set(
    one,
    `metrics_updated_at = '${readAt}', metrics = '{}', next_metrics_at = now() + interval '6 days'`,
  );
  const next_at = new Date(Date.parse(readAt) + 24 * 3600 * second).toISOString();
  t.like((await refresh())[0], { refresh: 'not_yet', next_at });
  t.is(await nextAt(), next_at);

  await set(one, `metrics_updated_at = '${ago(25)}', next_metrics_at = '${ago(1)}'`);
  t.like((await refresh())[0], { refresh: 'queued' });
});

test('a paid read is not started again while it is under way', async (t) => {
  const { one, set, refresh, punctual } = await publishedPost(t, 'x');
  await set(
    one,
    `published_at = now() - interval '2 days', metrics_updated_at = now() - interval '25 hours',
      metrics = '{}', next_metrics_at = now()`,
  );
  const claiming = { platform: 'x', everyMs: 24 * 3600 * second, busyChannels: [] };
  const claim = async () => {
    const [{ post_id: postId, workspace_id: workspaceId } = { post_id: '', workspace_id: '' }] =
      await punctual.orm.em
        .fork()
        .execute<{ post_id: string; workspace_id: string }[]>(
          'select post_id, workspace_id from post_channels where channel_id = ?',
          [one],
        );
    const deps = { ...punctual.deps, now: () => new Date() };
    return claimDue(deps, { ...claiming, post: { workspaceId, postId } });
  };
  const { rows } = await claim();
  t.is(rows.length, 1);
  t.like((await refresh())[0], { refresh: 'not_yet', next_at: rows[0]?.lease.toISOString() });
  t.deepEqual((await claim()).rows, []);
});

test('a refresh of a network with rare reads does not shorten a rate limit, but does shorten a regular wait', async (t) => {
  const { one, two, set, refresh } = await publishedPost(t, 'linkedin');
  const at = (hours: number) => new Date(Date.now() + hours * 3600 * second).toISOString();
  const [readAt, limitEndsAt] = [at(-7), at(1)];
  const wasRead = `metrics = '{}', metrics_updated_at = '${readAt}'`;
  await set(one, `${wasRead}, next_metrics_at = '${limitEndsAt}'`);
  await set(two, `${wasRead}, next_metrics_at = '${readAt}'::timestamptz + interval '1 day'`);
  for (const refreshed of [await refresh(), await refresh()]) {
    t.like(refreshed[0], { refresh: 'not_yet', next_at: limitEndsAt });
    t.like(refreshed[1], { refresh: 'queued' });
  }
});

test('a channel that needs reconnecting or was settled by hand is not_read, without a time', async (t) => {
  const { id, one, two, refresh, punctual } = await publishedPost(t);
  const em = punctual.orm.em.fork();
  await em.execute(`update channels set state = 'needs_reconnect' where id = ?`, [one]);
  await em.execute('update post_parts set remote_id = null where channel_id = ?', [two]);
  await em.execute('update post_channels set next_metrics_at = now() where post_id = ?', [id]);
  t.deepEqual(
    (await refresh()).map((channel) => [channel.refresh, channel.next_at]),
    [
      ['not_read', null],
      ['not_read', null],
    ],
  );
});

test('an unknown post is 404, and a draft has nothing to read', async (t) => {
  const client = await api.newClient();
  const { status } = await client.post('/analytics/refresh', { post_id: crypto.randomUUID() });
  t.is(status, 404);
  const { id } = (await client.post('/posts', { body: 'x' })).body.post;
  t.like(await client.post('/analytics/refresh', { post_id: id }), {
    status: 202,
    body: { post_id: id, channels: [] },
  });
});

needs('temporal')('metrics arrive soon after a refresh', async (t) => {
  const network = measuredNetwork();
  const punctual = await startApi(t, { networks: { mastodon: network } });
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const scheduled_at = new Date(Date.now() + second).toISOString();
  const request = { body: 'Measured', channel_ids: [channel], scheduled_at };
  const { id } = (await client.post('/posts', request)).body.post;
  await client.finalPost(id);
  network.figures.set(network.live[0]?.sent.remoteId ?? '', read({ likes: 7 }));

  t.is((await client.post('/analytics/refresh', { post_id: id })).status, 202);
  const { body } = await poll(
    () => client.get(`/analytics?post_id=${id}`),
    (answer) => answer.body.totals.posts_without_metrics === 0,
  );
  t.is(body.totals.likes, 7);
  const handle = punctual.temporal.client.workflow.getHandle(postMetricsWorkflowId(id));
  t.like(await handle.result(), { read: 1, unread: [] });
});
