import test, { type ExecutionContext } from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, liveTexts, type FakeNetwork } from '../support/networks.ts';
import {
  channelOfAnother,
  countOf,
  hangingNetwork,
  newNetwork,
  postsOf,
  untilUnderWay,
} from '../support/servers.ts';

const second = 1000;
const minute = 60 * second;

const database = beforeTests(test, freshDatabase);
const newChannel = (t: ExecutionContext, network = newNetwork()) =>
  clockedChannel(t, network, database().url);
const neighbour = (t: ExecutionContext, ...more: [FakeNetwork, string?]) =>
  channelOfAnother(t, database().url, ...more);

/** A send that timed out or could not connect. */
const away = fails('network_unavailable', { server: 'unreachable' });

/** Attempts new posts while their server is unreachable. @returns the posts. */
async function findAway(
  channel: ClockedChannel,
  network: ReturnType<typeof newNetwork>,
  times: number,
): Promise<ClaimedPost[]> {
  const posts: ClaimedPost[] = [];
  for (const post of await postsOf(channel, times)) {
    network.fates.push(away);
    await post.attempt();
    posts.push(post);
  }

  return posts;
}

const waitOf = (attempted: Awaited<ReturnType<ClaimedPost['attempt']>>): number =>
  (attempted.kind === 'again' && attempted.inMs) || 0;

test('after five failed attempts in a row a server gets no requests; waiting does not count as an attempt, and the error says why', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const stranger = await neighbour(t, network, 'https://other.example');
  await findAway(channel, network, 5);
  t.is(network.sends.length, 5);

  const post = await channel.newPost(['Waits']);
  const attempted = await post.attempt();
  t.like(attempted, { kind: 'again', code: 'network_unavailable' });
  t.true(waitOf(attempted) >= 10 * second && waitOf(attempted) <= 11 * second);
  t.is(network.sends.length, 5);
  const row = await post.row();
  t.like(row, { status: 'retrying', errorCode: 'network_unavailable', tries: 0 });
  t.regex(
    row.error ?? '',
    /^Nothing was sent: https:\/\/fake\.example did not answer the last 5 attempts, so only one post at a time is sent to test it\. This does not count as an attempt\. The next attempt is at /v,
  );
  t.like(await (await stranger.newPost(['Elsewhere'])).attempt(), { status: 'published' });
});

test('after a pause one attempt at a time probes the server, and pauses grow', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const { prepare } = network;
  network.prepare = async () => {
    throw away.kind === 'fails' ? away.error : away;
  };
  for (const post of await postsOf(channel, 5)) {
    await post.attempt();
  }

  for (const pauseS of [10, 20, 40, 80, 160, 300, 300]) {
    channel.pass(pauseS * second - 1);
    const [early] = await postsOf(channel, 1);
    t.like(await early?.attempt(), { kind: 'again', code: 'network_unavailable' }, `${pauseS}`);
    t.is((await early?.row())?.tries, 0);
    channel.pass(1);
    const [probe] = await postsOf(channel, 1);
    t.like(await probe?.attempt(), { kind: 'again', code: 'network_unavailable' });
    t.is((await probe?.row())?.tries, 1, `${pauseS}`);
  }

  network.prepare = prepare;
  channel.pass(300 * second);
  const [probe, other] = await postsOf(channel, 2);
  const looking = probe?.attempt();
  await untilUnderWay(network, 1);
  t.like(await other?.attempt(channel.newWorker()), { code: 'network_unavailable' });
  t.is(network.so.underWay, 1);
  network.answer();
  t.like(await looking, { status: 'published' });
});

test('the first success ends the pause for all posts', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  await findAway(channel, network, 5);
  channel.pass(10 * second);
  t.like(await (await channel.newPost(['Probe'])).attempt(), { status: 'published' });

  const posts = await postsOf(channel, 10);
  const ends = await Promise.all(posts.map((post) => post.attempt()));
  t.is(countOf(ends, 'done'), 10);
  t.is(liveTexts(network).length, 11);
});

test('a server that responds now and then, even with a refusal, is not paused', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  await findAway(channel, network, 4);
  network.fates.push(fails('content_refused', { server: 'answered' }));
  await (await channel.newPost(['Refused'])).attempt();
  await findAway(channel, network, 4);

  t.like(await (await channel.newPost(['Sent'])).attempt(), { status: 'published' });
});

test('a post waits for an unreachable server for a day after its due time', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Waits']);
  channel.pass(24 * 60 * minute - 2 * second);
  await findAway(channel, network, 5);

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  t.like(await post.row(), { errorCode: 'too_late', tries: 1 });
  t.is(network.sends.length, 5);
});

test('a deleted rate limit delays its posts for at most 15 more minutes', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const [early, late] = await postsOf(channel, 2);
  const retryAtMs = channel.deps.now().getTime() + 600 * minute;
  network.fates.push(fails('rate_limited', { retryAtMs, limit: 'server' }));
  t.like(await early?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  t.like(await late?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  channel.pass(15 * minute);
  t.like(await early?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  t.deepEqual((await early?.row())?.retryAt, new Date(retryAtMs));
  t.is(network.sends.length, 1);

  await channel.deps.orm.em
    .fork()
    .execute('delete from network_parks where platform = ?', [network.id]);
  t.like(await early?.attempt(), { kind: 'done', status: 'published' });
});
