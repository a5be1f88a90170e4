import {
  addBlueskyChannel,
  addMastodonChannel,
  networkPorts,
  blueskyAccount,
  mastodonAccount,
} from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { startPunctual } from '../support/punctual.ts';
import { isSignedWith, startReceiver } from '../support/receiver.ts';

const test = needs('temporal', 'gotosocial', 'pds');

test('a token that its owner revoked: the post fails with the reason, the channel asks for reconnecting, and both are told', async (t) => {
  const receiver = await startReceiver(t);
  const punctual = await startPunctual(t, { allowPorts: [...networkPorts(), receiver.port] });
  const client = await newClient(punctual);
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const lost = await addMastodonChannel(punctual, client.workspaceId, mastodon);
  const kept = await addBlueskyChannel(punctual, client.workspaceId, bluesky);
  const events = ['post.partial', 'channel.needs_reconnect'];
  const { body: hook } = await client.post('/webhooks', { url: receiver.url, events });
  await mastodon.revoke();

  const { body } = await client.post('/posts', {
    body: 'Knock knock',
    channel_ids: [lost, kept],
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'failed');
  t.like(post.channels[0], { status: 'failed', error_code: 'access_lost' });
  t.is(post.channels[1]?.status, 'published');
  await receiver.nth(2);
  const told = new Map(
    receiver.received.map((request) => [request.headers['service-event-type'], request]),
  );
  t.deepEqual([...told.keys()].toSorted(), ['channel.needs_reconnect', 'post.partial']);
  for (const request of told.values()) {
    t.true(await isSignedWith(hook.webhook.secret, request));
  }

  const { body: list } = await client.get('/channels');
  const channel = list.channels.find(({ id }: { id: string }) => id === lost);
  t.is(channel.state, 'needs_reconnect');
  t.truthy(channel.error);
  const event = JSON.parse(told.get('channel.needs_reconnect')?.body ?? '{}');
  const { id, platform, handle, error } = channel;
  t.deepEqual(event.data, { channel: { id, platform, handle, error } });

  await client.post('/posts', { body: 'Again', channel_ids: [lost], schedule_in_minutes: 0 });
  const draft = await client.post('/posts', { body: 'Again', channel_ids: [lost] });
  t.regex(draft.body.post.warning, /needs reconnecting/v);
});
