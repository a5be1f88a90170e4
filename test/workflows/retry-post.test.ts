import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';

const test = needs('temporal');

test('a retry sends again where it failed and nowhere else, and its outcome is a new event', async (t) => {
  const { client, bad, good, post, channels, eventTypes } = await world(t);
  t.is((await client.finalPost(post)).status, 'failed');
  t.deepEqual(await eventTypes(), ['post.partial']);

  const reply = await client.post(`/posts/${post}/retry`);
  t.is(reply.status, 202);
  t.deepEqual(reply.body, { id: post, retrying: [channels.bad] });

  await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.status,
    (status) => status === 'published',
  );
  t.is(good.sends.length, 1);
  t.is(bad.live.length, 1);
  t.deepEqual(await eventTypes(), ['post.partial', 'post.published']);
});

test('a retry whose message to Temporal is lost is made up for', async (t) => {
  const { client, bad, post, punctual } = await world(t);
  await client.finalPost(post);
  await client.post(`/posts/${post}/retry`);
  // What a crash between the commit and the message leaves behind.
  await punctual.orm.em
    .fork()
    .execute('update posts set synced_revision = revision - 1 where id = ?', [post]);

  await client.finalPost(post);
  t.is(bad.live.length, 1);
  t.is((await client.get(`/posts/${post}`)).body.post.status, 'published');
});

test('a retry has a day of its own, however long ago the post was due', async (t) => {
  const { client, bad, post, punctual } = await world(t);
  await client.finalPost(post);
  await punctual.orm.em
    .fork()
    .execute(`update posts set scheduled_at = scheduled_at - interval '3 days' where id = ?`, [
      post,
    ]);
  bad.fates.push({ kind: 'fails', error: failure('network_unavailable') });

  t.is((await client.post(`/posts/${post}/retry`)).status, 202);

  const channel = await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels[1],
    ({ status }) => status !== 'scheduled' && status !== 'publishing',
  );
  t.like(channel, { status: 'retrying', error_code: 'network_unavailable' });
});

const failure = (code: NetworkError['code']): NetworkError =>
  new NetworkError(code, 'No.', { taken: 'no' });

/** A post on two channels, of which the second refuses it once. */
async function world(t: ExecutionContext) {
  const [good, bad] = [fakeNetwork(), fakeNetwork()];
  bad.fates.push({ kind: 'fails', error: failure('content_refused') });
  const punctual = await startPunctual(t, { networks: { good, bad } });
  const client = await newClient(punctual);
  const channels = {
    good: await addFakeChannel(punctual.deps, client.workspaceId, 'good'),
    bad: await addFakeChannel(punctual.deps, client.workspaceId, 'bad'),
  };
  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: [channels.good, channels.bad],
    schedule_in_minutes: 0,
  });
  const post: string = body.post.id;
  return {
    punctual,
    client,
    good,
    bad,
    channels,
    post,
    eventTypes: async () => {
      const rows = await punctual.orm.em
        .fork()
        .execute<{ type: string }[]>('select type from events where post_id = ? order by id', [
          post,
        ]);
      return rows.map(({ type }) => type);
    },
  };
}
