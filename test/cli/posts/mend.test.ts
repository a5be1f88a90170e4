import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { endedPost, storeChannel, addFakeChannel } from '../../support/seed.ts';
import { newClient } from '../../support/client.ts';
import { fakeNetwork, type Fate } from '../../support/networks.ts';
import { needs } from '../../support/needs.ts';
import { startApi, startWorkers } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { adminOf, areRefused } from './admin.ts';
import { publish } from './publish.ts';

const there = 'https://social.test/@ana/1';

/** A post on one channel that ended otherwise than well. */
async function world(t: ExecutionContext, fate: Fate) {
  const network = fakeNetwork();
  network.fates.push(fate);
  network.blind = new NetworkError('unconfirmed', 'Nobody can tell.', { taken: 'unknown' });
  const receiver = await startReceiver(t);
  const networks = { fake: network };
  const punctual = await startApi(t, { networks, allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channel = await addFakeChannel(punctual.deps, workspaceId, 'fake');
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const id = String((await client.post('/posts', content)).body.post.id);
  await publish(punctual, workspaceId, id);
  const show = async () => (await client.get(`/posts/${id}`)).body.post;
  return { punctual, client, channel, network, receiver, id, show, admin: adminOf(punctual) };
}

const refused = new NetworkError('content_refused', 'No.', { taken: 'no' });

needs('temporal')(
  'what an operator retries or settles goes on, and webhooks hear of it, though the commands tell nobody but the database',
  async (t) => {
    const failure = { kind: 'fails', error: refused } as const;
    const { punctual, client, channel, network, receiver, id, show, admin } = await world(
      t,
      failure,
    );
    const lost = await world(t, { kind: 'lost' });
    const events = ['post.published', 'post.failed'];
    await client.post('/webhooks', { url: receiver.url, events });
    await lost.client.post('/webhooks', { url: lost.receiver.url, events });
    await Promise.all([startWorkers(t, punctual), startWorkers(t, lost.punctual)]);

    const { code, stdout, stderr } = await admin.run('post', 'retry', id);
    t.deepEqual([code, stderr], [0, '']);
    t.true(stdout.startsWith(`Post ${id} is sent again to 1 channel: ${channel}\n`), stdout);
    t.is(JSON.parse((await receiver.nth(1)).body).type, 'post.published');
    t.is((await show()).status, 'published');
    t.is(network.live.length, 1);

    const settle = ['post', 'settle', lost.id, lost.channel, '--published', there];
    const settled = await lost.admin.run(...settle);
    t.deepEqual([settled.code, settled.stderr], [0, '']);
    t.regex(
      settled.stdout,
      /is published: https:\/\/social\.test\/@ana\/1\nPost .* is published\./v,
    );
    const event = JSON.parse((await lost.receiver.nth(1)).body);
    t.is(event.type, 'post.published');
    t.deepEqual(event.data.post, await lost.show());
    t.is(lost.network.sends.length, 1);
  },
);

test('what may be live is not retried by an operator either', async (t) => {
  const { id, admin, show } = await world(t, { kind: 'lost' });
  const before = await show();
  await areRefused(t, admin, [[['retry', id], 'AppError', /No channel of this post has failed/v]]);
  t.deepEqual(await show(), before);
});

test('what an operator says is not there is sent again by a retry', async (t) => {
  const { punctual, client, channel, network, id, show, admin } = await world(t, {
    kind: 'vanished',
  });
  const not = ['settle', id, channel, '--not-published'];
  await areRefused(t, admin, [[not, 'AppError', /may still be at it\. Look again after/v]]);
  await punctual.orm.em
    .fork()
    .execute(`update publish_attempts set sending_at = sending_at - interval '2 minutes'`);
  const { text, data } = await admin.post(...not);
  t.regex(text, /is failed: .*a retry sends it\./v);
  t.is(data.post.channels[0].error_code, 'not_published');
  network.blind = undefined;
  await admin.post('retry', id);
  await publish(punctual, client.workspaceId, id);
  t.is((await show()).status, 'published');
  t.is(network.live.length, 1);
});

test('the commands do their work while Temporal is away, and leave the telling to the worker', async (t) => {
  const punctual = await startApi(t, {
    temporalEnv: { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: 'away' },
  });
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const admin = adminOf(punctual);
  const id = await endedPost(punctual, client, new Map([[channel, 'failed']]));
  t.regex((await admin.post('retry', id)).text, /The worker tells Temporal of it/v);
  const [post] = await punctual.orm.em
    .fork()
    .execute<{ lag: number }[]>('select revision - synced_revision as lag from posts');
  t.is(post?.lag, 1);
});

test('without a plan an operator is told how to give one', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const id = await endedPost(punctual, client, new Map([[channel, 'failed']]));
  await punctual.orm.em.fork().execute('update workspaces set plan = null');
  const reason = new RegExp(`workspace plan ${client.workspaceId} standard" gives it one`, 'v');
  await areRefused(t, adminOf(punctual), [[['retry', id], 'AppError', reason]]);
});

test('a settling needs one answer, and one that makes sense', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const id = await endedPost(punctual, client, new Map([[channel, 'unconfirmed']]));
  const one = /one of --published, --not-published is wanted/v;
  await areRefused(t, adminOf(punctual), [
    [['settle', id, channel], 'UsageError', one],
    [['settle', id, channel, '--not-published', '--published', there], 'UsageError', one],
    [['settle', id, channel, '--published', 'here'], 'AppError', /whole address of the post/v],
    [['settle', id, channel, '--published='], 'AppError', /whole address of the post/v],
    [['settle', id, 'x', '--not-published'], 'AppError', /This post has no channel "x"/v],
    [['settle', id, '--not-published'], 'UsageError', /CHANNEL is missing/v],
  ]);
  t.is((await client.get(`/posts/${id}`)).body.post.channels[0].status, 'unconfirmed');
});
