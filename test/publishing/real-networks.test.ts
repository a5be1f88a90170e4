import {
  blueskyAccount,
  addBlueskyChannel,
  addMastodonChannel,
  networkPorts,
  mastodonAccount,
} from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { startPunctual } from '../support/punctual.ts';
import { isSignedWith, startReceiver } from '../support/receiver.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal', 'gotosocial', 'pds');

test('a scheduled post is live on Mastodon and Bluesky at its time, where its results say', async (t) => {
  const punctual = await startPunctual(t, { allowPorts: networkPorts() });
  const client = await newClient(punctual);
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const ids = [
    await addMastodonChannel(punctual, client.workspaceId, mastodon),
    await addBlueskyChannel(punctual, client.workspaceId, bluesky),
  ];
  const dueAt = new Date(Date.now() + 3000);

  const created = await client.post('/posts', {
    body: 'On time, see https://example.com #punctual',
    channel_ids: ids,
    scheduled_at: dueAt.toISOString(),
  });
  t.is(created.status, 201);
  t.is(created.body.post.status, 'scheduled');
  const post = await client.finalPost(created.body.post.id);

  t.like(post, { status: 'published', summary: { published: 2, failed: 0, pending: 0 } });
  const statuses = await mastodon.client.v1.accounts
    .$select((await mastodon.client.v1.accounts.verifyCredentials()).id)
    .statuses.list();
  t.is(statuses.length, 1);
  t.is(statuses[0]?.url, post.channels[0]?.url);
  const { data } = await bluesky.agent.com.atproto.repo.listRecords({
    repo: bluesky.did,
    collection: 'app.bsky.feed.post',
  });
  t.is(data.records.length, 1);
  t.is(data.records[0]?.value['text'], 'On time, see https://example.com #punctual');
  const rkey = data.records[0]?.uri.split('/').at(-1);
  t.is(post.channels[1]?.url, `https://bsky.app/profile/${bluesky.did}/post/${rkey}`);
  for (const at of [statuses[0]?.createdAt, data.records[0]?.value['createdAt']]) {
    const lateMs = Date.parse(String(at)) - dueAt.getTime();
    t.true(lateMs > -1000 && lateMs < 5000, `${lateMs} ms late`); // GoToSocial cuts the milliseconds.
  }
});

test('a thread of three is on both networks as a chain, in order', async (t) => {
  const punctual = await startPunctual(t, { allowPorts: networkPorts() });
  const client = await newClient(punctual);
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const ids = [
    await addMastodonChannel(punctual, client.workspaceId, mastodon),
    await addBlueskyChannel(punctual, client.workspaceId, bluesky),
  ];

  const { body } = await client.post('/posts', {
    thread: ['One', 'Two', 'Three'],
    channel_ids: ids,
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'published');
  const me = await mastodon.client.v1.accounts.verifyCredentials();
  const statuses = await mastodon.client.v1.accounts.$select(me.id).statuses.list();
  const chain = statuses.toReversed();
  t.is(chain.length, 3);
  t.is(chain[0]?.url, post.channels[0]?.url);
  t.is(chain[1]?.inReplyToId, chain[0]?.id);
  t.is(chain[2]?.inReplyToId, chain[1]?.id);
  const { data } = await bluesky.agent.com.atproto.repo.listRecords({
    repo: bluesky.did,
    collection: 'app.bsky.feed.post',
    reverse: true,
  });
  t.deepEqual(
    data.records.map(({ value }) => value['text']),
    ['One', 'Two', 'Three'],
  );
  t.like(data.records[2]?.value, {
    reply: {
      root: { uri: data.records[0]?.uri, cid: data.records[0]?.cid },
      parent: { uri: data.records[1]?.uri, cid: data.records[1]?.cid },
    },
  });
});

test('when one of two networks refuses, the post fails, one channel is published and one signed post.partial says so', async (t) => {
  const receiver = await startReceiver(t);
  const punctual = await startPunctual(t, { allowPorts: [...networkPorts(), receiver.port] });
  const client = await newClient(punctual);
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const mastodonId = await addMastodonChannel(punctual, client.workspaceId, mastodon);
  const blueskyId = await addBlueskyChannel(punctual, client.workspaceId, bluesky);
  // The server's own limit is lower than the one that the channel remembers, as after a change there.
  await punctual.orm.em.execute(
    `update channels set settings = '{"maxCharacters": 9000}' where id = ?`,
    [mastodonId],
  );
  const events = ['post.published', 'post.partial', 'post.failed'];
  const hook = await client.post('/webhooks', { url: receiver.url, events });
  t.is(hook.status, 201);

  const { body } = await client.post('/posts', {
    body: 'x'.repeat(6000),
    channel_bodies: { [blueskyId]: 'short enough' },
    channel_ids: [mastodonId, blueskyId],
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.like(post, { status: 'failed', summary: { published: 1, failed: 1, pending: 0 } });
  t.like(post.channels[0], { status: 'failed', error_code: 'content_refused', url: null });
  t.regex(post.channels[0]?.error ?? '', /5000/v); // The server's own words.
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
