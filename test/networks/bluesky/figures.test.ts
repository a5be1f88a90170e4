import type { ExecutionContext } from 'ava';
import { AtpAgent } from '@atproto/api';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { NetworkError } from '../../../networks/network.ts';
import { freePort } from '../../../scripts/ports.ts';
import { startAppView } from '../../support/app-view/start-app-view.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startPds } from '../../support/services/pds.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { connected } from './bench.ts';

const test = needs('pds', 'postgres', 'app-view');
const reader = readerOf(blueskyNetwork);

/** A PDS with Bluesky's AppView behind it, an account with a thread of two posts, and another account. */
async function open(t: ExecutionContext) {
  const [port, did] = [await freePort(), 'did:web:app-view.test'];
  const pds = await startPds({ url: `http://127.0.0.1:${port}`, did });
  t.teardown(() => pds.stop());
  const { PUNCTUAL_TEST_PDS_URL: baseUrl = '', PUNCTUAL_TEST_PLC_URL: plcUrl = '' } = pds.env;
  const appView = await startAppView(t, { port, did, pdsUrl: baseUrl, plcUrl });
  const owner = await person(baseUrl, 'measured');
  const { data } = await owner.com.atproto.server.createAppPassword({ name: 'punctual' });
  const login = { baseUrl, identifier: 'measured.test', appPassword: data.password };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const connection = openConnection(t, account);
  const { sent } = await publish(blueskyNetwork, connection, partsOf('Measure me', 'Second'));
  const uris = sent.map(({ remoteId }) => remoteId);
  const someone = await person(baseUrl, 'someone');
  return { appView, owner, account, connection, someone, uris };
}

async function person(service: string, name: string): Promise<AtpAgent> {
  const agent = new AtpAgent({ service });
  const email = `${name}@example.com`;
  await agent.createAccount({ handle: `${name}.test`, email, password: `password-of-${name}` });
  return agent;
}

async function cidOf(agent: AtpAgent, uri: string): Promise<string> {
  const [repo = '', collection = '', rkey = ''] = uri.split('/').slice(2);
  const { data } = await agent.com.atproto.repo.getRecord({ repo, collection, rkey });
  return data.cid ?? '';
}

test('the reactions of another account are read from the AppView, through the account’s PDS', async (t) => {
  const { owner, account, connection, someone, uris } = await open(t);
  const [uri = '', second = ''] = uris;
  const post = { uri, cid: await cidOf(owner, uri) };
  await someone.like(post.uri, post.cid);
  await someone.repost(post.uri, post.cid);
  await someone.post({ text: 'Nice', reply: { root: post, parent: post } });
  const embed = { $type: 'app.bsky.embed.record', record: post };
  await someone.post({ text: 'Look at this', embed });
  await someone.follow(account.remoteId);

  const read = async () => Object.fromEntries(await reader.read(connection, uris));
  const shares = (seen: Awaited<ReturnType<typeof read>>) => {
    const reading = seen[uri];
    return reading?.kind === 'read' ? reading.metrics.shares : undefined;
  };
  const readings = await poll(read, (seen) => shares(seen) === 2);
  // The second part of the thread counts as a reply.
  t.like(readings[uri], { kind: 'read', metrics: { likes: 1, comments: 2, shares: 2 } });
  t.like(readings[second], { kind: 'read', metrics: { likes: 0, comments: 0, shares: 0 } });
  const followers = async () => reader.followers?.(connection);
  t.is(await poll(followers, (count) => count === 1), 1);

  await owner.deletePost(second);
  const without = await poll(read, (seen) => seen[second]?.kind === 'gone');
  t.is(without[uri]?.kind, 'read');
});

test('a post that the AppView hides is not gone while the account has it', async (t) => {
  const { appView, owner, connection, uris } = await open(t);
  const [uri = '', second = ''] = uris;
  const read = async () => [...(await reader.read(connection, uris)).keys()];
  await poll(read, (seen) => seen.length === uris.length);
  await appView.takeDown(uri, await cidOf(owner, uri));
  t.deepEqual(await read(), [second]);
});

test('a PDS without its AppView returns no metrics, and no post counts as gone', async (t) => {
  const { connection } = await connected(t);
  const { sent } = await publish(blueskyNetwork, connection, partsOf('Hi'));
  const read = reader.read(
    connection,
    sent.map(({ remoteId }) => remoteId),
  );
  const error = await t.throwsAsync(read, { instanceOf: NetworkError });
  t.like(error, { code: 'network_unavailable', accepted: 'no' });
});
