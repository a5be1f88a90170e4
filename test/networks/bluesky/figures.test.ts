import type { ExecutionContext } from 'ava';
import { AtpAgent } from '@atproto/api';
import { bluesky } from '../../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { NetworkError } from '../../../networks/network.ts';
import { needs } from '../../support/needs.ts';
import { startPds } from '../../support/services/pds.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { startAppView } from './app-view.ts';
import { connected } from './bench.ts';

const test = needs('pds');
const reader = readerOf(bluesky);

/** A real PDS with an AppView behind it, an account that posts, and somebody else. */
async function open(t: ExecutionContext) {
  const appView = await startAppView(t);
  const pds = await startPds(appView);
  t.teardown(() => pds.stop());
  const baseUrl = pds.env['PUNCTUAL_TEST_PDS_URL'] ?? '';
  appView.follow(baseUrl);
  const person = async (name: string) => {
    const agent = new AtpAgent({ service: baseUrl });
    await agent.createAccount({
      handle: `${name}.test`,
      email: `${name}@example.com`,
      password: `password-of-${name}`,
    });
    return agent;
  };
  const owner = await person('measured');
  const { data } = await owner.com.atproto.server.createAppPassword({ name: 'punctual' });
  const login = { baseUrl, identifier: 'measured.test', appPassword: data.password };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const connection = openConnection(t, account);
  return { appView, owner, account, connection, someone: await person('someone') };
}

test('likes, reposts, quotes and replies that somebody else makes are read through the account’s PDS', async (t) => {
  const { appView, owner, account, connection, someone } = await open(t);
  const { sent } = await publish(bluesky, connection, partsOf('Measure me', 'Second'));
  const uris = sent.map(({ remoteId }) => remoteId);
  const [uri = '', second = ''] = uris;
  const { data } = await owner.com.atproto.repo.getRecord({
    repo: account.remoteId,
    collection: 'app.bsky.feed.post',
    rkey: uri.split('/').at(-1) ?? '',
  });
  const post = { uri, cid: data.cid ?? '' };
  await someone.like(post.uri, post.cid);
  await someone.repost(post.uri, post.cid);
  await someone.post({ text: 'Nice', reply: { root: post, parent: post } });
  const embed = { $type: 'app.bsky.embed.record', record: post };
  await someone.post({ text: 'Look at this', embed });

  const readings = await reader.read(connection, uris);
  // The second part of the thread is an answer too. Bookmarks are not in anybody's records.
  t.deepEqual(readings.get(uri), { kind: 'read', metrics: { likes: 1, comments: 2, shares: 2 } });
  t.deepEqual(readings.get(second), {
    kind: 'read',
    metrics: { likes: 0, comments: 0, shares: 0 },
  });

  await owner.deletePost(second);
  t.deepEqual((await reader.read(connection, uris)).get(second), { kind: 'gone' });
  appView.hide(uri);
  t.false((await reader.read(connection, uris)).has(uri), 'the account still has it');

  t.is(await reader.followers?.(connection), 0);
  await someone.follow(account.remoteId);
  t.is(await reader.followers?.(connection), 1);
});

test('a PDS whose AppView is away tells nothing, and no post is gone by it', async (t) => {
  const { connection } = await connected(t);
  const { sent } = await publish(bluesky, connection, partsOf('Hi'));
  const read = reader.read(
    connection,
    sent.map(({ remoteId }) => remoteId),
  );
  const error = await t.throwsAsync(read, { instanceOf: NetworkError });
  t.like(error, { code: 'network_unavailable', taken: 'no' });
});
