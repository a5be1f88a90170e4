import { addMastodonChannel, networkPorts, mastodonAccount } from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { startApi } from '../support/punctual.ts';
import { killed, startWorkerProcess } from '../support/worker-process.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal', 'gotosocial');

test('the worker is killed in the middle of a thread: after a restart every part is there once, in order', async (t) => {
  const account = await mastodonAccount();
  const proxy = await lossyProxy(t, account.baseUrl);
  const allowPorts = [...networkPorts(), Number(new URL(proxy.url).port)];
  const punctual = await startApi(t, { allowPorts });
  const client = await newClient(punctual);
  const channel = await addMastodonChannel(punctual, client.workspaceId, account, proxy.url);
  const first = await startWorkerProcess(t, punctual, allowPorts);
  const statuses = { method: 'POST', path: /\/api\/v1\/statuses/v };
  const secondTaken = new Promise<void>((taken) => {
    proxy.plan(statuses, { kind: 'delayed', delayMs: 0 });
    proxy.plan(statuses, { kind: 'held', taken });
  });

  const { body } = await client.post('/posts', {
    thread: ['One', 'Two', 'Three'],
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  await secondTaken;
  await killed(first);
  await startWorkerProcess(t, punctual, allowPorts);
  const post = await client.finalPost(body.post.id, 90_000);

  t.is(post.status, 'published');
  const me = await account.client.v1.accounts.verifyCredentials();
  const listed = await account.client.v1.accounts.$select(me.id).statuses.list();
  const chain = listed.toReversed();
  const sources = await Promise.all(
    chain.map(({ id }) => account.client.v1.statuses.$select(id).source.fetch()),
  );
  t.deepEqual(
    sources.map(({ text }) => text),
    ['One', 'Two', 'Three'],
  );
  t.is(chain[1]?.inReplyToId, chain[0]?.id);
  t.is(chain[2]?.inReplyToId, chain[1]?.id);
  t.is(chain[0]?.url, post.channels[0]?.url);
});
