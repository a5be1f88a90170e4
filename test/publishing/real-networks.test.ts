import { postWorkflowId } from '../../workflows/messages.ts';
import { pictureFile, pixelsOf } from '../networks/files.ts';
import {
  addBlueskyChannel,
  addMastodonChannel,
  blueskyAccount,
  mastodonAccount,
  networkPorts,
} from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { upload } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { startPunctual } from '../support/punctual.ts';
import { isSignedWith, startReceiver } from '../support/receiver.ts';
import { ownStepsOf, timerEnds } from '../support/waits.ts';
import { postsOf, statusesOf } from './live-posts.ts';

const test = needs('temporal', 'gotosocial', 'pds');

/** One service for all tests. The allowed ports are set at its start, so the receivers exist before it. */
const shared = beforeTests(test, async (scope) => {
  const receivers = { refused: await startReceiver(scope), revoked: await startReceiver(scope) };
  const allowPorts = [...networkPorts(), receivers.refused.port, receivers.revoked.port];
  return { receivers, punctual: await startPunctual(scope, { allowPorts }) };
});

/** A workspace with an account of its own on each network. */
async function workspace() {
  const { punctual } = shared();
  const client = await newClient(punctual);
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const channels = {
    mastodon: await addMastodonChannel(punctual, client.workspaceId, mastodon),
    bluesky: await addBlueskyChannel(punctual, client.workspaceId, bluesky),
  };
  return { punctual, client, channels, mastodon, bluesky };
}

test('a scheduled post is live on Mastodon and Bluesky at its time, at the URLs in its results', async (t) => {
  const { punctual, client, channels, mastodon, bluesky } = await workspace();
  const dueAt = new Date(Date.now() + 3000);

  const created = await client.post('/posts', {
    body: 'On time, see https://example.com #punctual',
    channel_ids: Object.values(channels),
    scheduled_at: dueAt.toISOString(),
  });
  t.is(created.status, 201);
  t.is(created.body.post.status, 'scheduled');
  const post = await client.finalPost(created.body.post.id);

  t.like(post, { status: 'published', summary: { published: 2, failed: 0, pending: 0 } });
  const statuses = await statusesOf(mastodon);
  t.is(statuses.length, 1);
  t.is(statuses[0]?.url, post.channels[0]?.url);
  const records = await postsOf(bluesky);
  t.is(records.length, 1);
  t.is(records[0]?.text, 'On time, see https://example.com #punctual');
  const rkey = records[0]?.uri.split('/').at(-1);
  t.is(post.channels[1]?.url, `https://bsky.app/profile/${bluesky.did}/post/${rkey}`);
  for (const at of [statuses[0]?.createdAt, records[0]?.createdAt]) {
    const lateMs = Date.parse(String(at)) - dueAt.getTime();
    t.true(lateMs > -1000, `${lateMs} ms late`); // GoToSocial cuts the milliseconds.
  }

  const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(post.id));
  await handle.result();
  // On a slow machine, the due time may have passed before the timer; otherwise there is one timer for it.
  const others = (await timerEnds(handle)).filter((atMs) => atMs !== dueAt.getTime());
  t.deepEqual(others, []);
  t.is(await ownStepsOf(handle), 2, 'one claim and one finalize');
});

test('a thread of three parts is a chain on both networks, in order, with the pictures on its first part', async (t) => {
  const { punctual, client, channels, mastodon, bluesky } = await workspace();
  const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)];
  const media_ids: string[] = [];
  for (const { bytes, name: fileName } of files) {
    media_ids.push((await upload(punctual, client, { bytes, fileName })).body.media.id);
  }

  const { body } = await client.post('/posts', {
    thread: ['One', 'Two', 'Three'],
    media_ids,
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'published');
  const chain = await statusesOf(mastodon);
  t.is(chain.length, 3);
  t.is(chain[0]?.url, post.channels[0]?.url);
  t.is(chain[1]?.inReplyToId, chain[0]?.id);
  t.is(chain[2]?.inReplyToId, chain[1]?.id);
  const records = await postsOf(bluesky);
  t.is(records.map(({ text }) => text).join(), 'One,Two,Three');
  t.like(records[2]?.reply, {
    root: { uri: records[0]?.uri, cid: records[0]?.cid },
    parent: { uri: records[1]?.uri, cid: records[1]?.cid },
  });
  const shown = [await Promise.all(files.map(({ bytes }) => pixelsOf(bytes))), [], []];
  for (const live of [chain, records]) {
    t.deepEqual(
      live.map(({ pictures }) => pictures),
      shown,
    );
  }
});

test('when one of two networks refuses, the post fails, the other channel is published and one signed post.partial arrives', async (t) => {
  const { punctual, client, channels } = await workspace();
  const receiver = shared().receivers.refused;
  // The server's limit is lower than the stored one, as after a change on the server.
  await punctual.orm.em
    .fork()
    .execute(`update channels set settings = '{"maxCharacters": 9000}' where id = ?`, [
      channels.mastodon,
    ]);
  const events = ['post.published', 'post.partial', 'post.failed'];
  const hook = await client.post('/webhooks', { url: receiver.url, events });
  t.is(hook.status, 201);

  const { body } = await client.post('/posts', {
    body: 'x'.repeat(6000),
    channel_bodies: { [channels.bluesky]: 'short enough' },
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.like(post, { status: 'failed', summary: { published: 1, failed: 1, pending: 0 } });
  t.like(post.channels[0], { status: 'failed', error_code: 'content_refused', url: null });
  t.regex(post.channels[0]?.error ?? '', /5000/v); // From the server's message.
  t.is(post.channels[1]?.status, 'published');
  const request = await receiver.nth(1);
  t.is(request.headers['service-event-type'], 'post.partial');
  t.true(await isSignedWith(hook.body.webhook.secret, request));
  t.false(await isSignedWith('whsec_another', request));
  const event = JSON.parse(request.body);
  t.is(event.id, request.headers['service-event-id']);
  t.is(event.workspace_id, client.workspaceId);
  t.deepEqual(event.data.post, post);
  const delivery = await client.finalDelivery(hook.body.webhook.id);
  t.like(delivery, { status: 'delivered', event_id: event.id, response_status: 204 });
  t.is(receiver.received.length, 1);
});

test('a revoked token fails the post with the reason, and the channel needs reconnecting, with an event for each', async (t) => {
  const { client, channels, mastodon } = await workspace();
  const receiver = shared().receivers.revoked;
  const events = ['post.partial', 'channel.needs_reconnect'];
  const { body: hook } = await client.post('/webhooks', { url: receiver.url, events });
  await mastodon.revoke();

  const { body } = await client.post('/posts', {
    body: 'Knock knock',
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'failed');
  t.like(post.channels[0], { status: 'failed', error_code: 'access_lost' });
  t.is(post.channels[1]?.status, 'published');
  await receiver.nth(2);
  const requests = new Map(
    receiver.received.map((request) => [request.headers['service-event-type'], request]),
  );
  t.deepEqual([...requests.keys()].toSorted(), ['channel.needs_reconnect', 'post.partial']);
  for (const request of requests.values()) {
    t.true(await isSignedWith(hook.webhook.secret, request));
  }

  const { body: list } = await client.get('/channels');
  const channel = list.channels.find(({ id }: { id: string }) => id === channels.mastodon);
  t.is(channel.state, 'needs_reconnect');
  t.truthy(channel.error);
  const event = JSON.parse(requests.get('channel.needs_reconnect')?.body ?? '{}');
  const { id, platform, handle, error } = channel;
  t.deepEqual(event.data, { channel: { id, platform, handle, error } });

  const again = { body: 'Again', channel_ids: [channels.mastodon] };
  await client.post('/posts', { ...again, schedule_in_minutes: 0 });
  const draft = await client.post('/posts', again);
  t.regex(draft.body.post.warning, /needs reconnecting/v);
});
