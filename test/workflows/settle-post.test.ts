import { settlePost } from '../../api/posts/settle-post.ts';
import { NetworkError } from '../../networks/network.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startPunctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';

const test = needs('temporal');

test('a webhook hears of the end that a settling makes, and of the next when a retry has sent the post', async (t) => {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('unconfirmed', 'Nobody can tell.', { taken: 'unknown' });
  const receiver = await startReceiver(t);
  const punctual = await startPunctual(t, {
    networks: { fake: network },
    allowPorts: [receiver.port],
  });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId, 'fake');
  const events = ['post.published', 'post.failed'];
  await client.post('/webhooks', { url: receiver.url, events });
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const { id } = (await client.post('/posts', content)).body.post;
  t.like((await client.finalPost(id)).channels[0], { status: 'unconfirmed' });
  await receiver.nth(1);
  await punctual.orm.em
    .fork()
    .execute(`update publish_attempts set sending_at = sending_at - interval '2 minutes'`);

  const reply = await client.post(`/posts/${id}/settle`, { channel_id: channel, url: null });

  t.is(reply.status, 200, JSON.stringify(reply.body));
  const second = JSON.parse((await receiver.nth(2)).body);
  t.is(second.type, 'post.failed');
  t.deepEqual(second.data, reply.body);
  network.blind = undefined;
  network.live.pop();
  t.is((await client.post(`/posts/${id}/retry`)).status, 202);
  const third = JSON.parse((await receiver.nth(3)).body);
  t.is(third.type, 'post.published');
  t.is(network.live.length, 1);
  t.is(receiver.received.length, 3);
});

test('an event whose message to Temporal is lost is delivered all the same', async (t) => {
  const network = fakeNetwork();
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('unconfirmed', 'Nobody can tell.', { taken: 'unknown' });
  const receiver = await startReceiver(t);
  const punctual = await startPunctual(t, {
    networks: { fake: network },
    allowPorts: [receiver.port],
  });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId, 'fake');
  await client.post('/webhooks', { url: receiver.url, events: ['post.published'] });
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const { id } = (await client.post('/posts', content)).body.post;
  await client.finalPost(id);

  // As a process that dies between the commit and the message.
  const settlement = { channelId: channel, url: 'https://social.test/@ana/1' };
  const scope = { workspaceId: client.workspaceId, postId: id };
  await settlePost({ ...punctual.deps, tellDelivery: () => undefined }, scope, settlement);

  t.is(JSON.parse((await receiver.nth(1)).body).type, 'post.published');
});
