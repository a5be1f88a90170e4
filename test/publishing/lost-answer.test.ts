import {
  blueskyAccount,
  addBlueskyChannel,
  addMastodonChannel,
  networkPorts,
  mastodonAccount,
} from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { startPunctual } from '../support/punctual.ts';
import { needs } from '../support/needs.ts';

const test = needs('temporal', 'gotosocial', 'pds');

test('Mastodon: the answer is lost after the server took the post: it is there once, and published', async (t) => {
  const account = await mastodonAccount();
  const proxy = await lossyProxy(t, account.baseUrl);
  const allowPorts = [...networkPorts(), Number(new URL(proxy.url).port)];
  const punctual = await startPunctual(t, { allowPorts });
  const client = await newClient(punctual);
  const channel = await addMastodonChannel(punctual, client.workspaceId, account, proxy.url);
  proxy.plan({ method: 'POST', path: /\/api\/v1\/statuses/v }, { kind: 'lost' });

  const { body } = await client.post('/posts', {
    thread: ['Lost & found', 'Second part'],
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'published');
  const me = await account.client.v1.accounts.verifyCredentials();
  const statuses = await account.client.v1.accounts.$select(me.id).statuses.list();
  t.is(statuses.length, 2);
  t.is(statuses[1]?.url, post.channels[0]?.url);
  t.is(statuses[0]?.inReplyToId, statuses[1]?.id);
  const sends = proxy.seen.filter(
    ({ method, path }) => method === 'POST' && path.endsWith('/statuses'),
  );
  t.is(sends.length, 2); // One per part: nothing was sent again.
  t.is(new Set(sends.map(({ headers }) => headers['idempotency-key'])).size, 2);
});

test('Bluesky: the answer is lost after the server took the thread: each part is there once, and published', async (t) => {
  const account = await blueskyAccount();
  const proxy = await lossyProxy(t, account.baseUrl);
  const allowPorts = [...networkPorts(), Number(new URL(proxy.url).port)];
  const punctual = await startPunctual(t, { allowPorts });
  const client = await newClient(punctual);
  const channel = await addBlueskyChannel(punctual, client.workspaceId, account, proxy.url);
  proxy.plan({ method: 'POST', path: /applyWrites/v }, { kind: 'lost' });

  const { body } = await client.post('/posts', {
    thread: ['Lost & found', 'Second part'],
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'published');
  const { data } = await account.agent.com.atproto.repo.listRecords({
    repo: account.did,
    collection: 'app.bsky.feed.post',
    reverse: true,
  });
  t.deepEqual(
    data.records.map(({ value }) => value['text']),
    ['Lost & found', 'Second part'],
  );
  t.is(post.channels[0]?.url?.split('/').at(-1), data.records[0]?.uri.split('/').at(-1));
  t.is(proxy.seen.filter(({ path }) => path.includes('applyWrites')).length, 1);
});
