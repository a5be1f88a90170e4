import test, { type ExecutionContext } from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, type FakeNetwork, type Fate, liveTexts } from '../support/networks.ts';
import {
  channelOfAnother,
  countOf,
  hangingNetwork,
  newNetwork,
  postsOf,
  beginEach,
  untilUnderWay,
} from '../support/servers.ts';

const second = 1000;

const database = beforeTests(test, freshDatabase);
const newChannel = (t: ExecutionContext, network = newNetwork()) =>
  clockedChannel(t, network, database().url);
const neighbour = (t: ExecutionContext, ...more: [FakeNetwork, string?]) =>
  channelOfAnother(t, database().url, ...more);

test('a server without responses gets at most 20 concurrent attempts from all workers; another server of the network is unaffected', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const another = channel.newWorker();
  const other = await neighbour(t, network);
  const stranger = await neighbour(t, network, 'https://other.example');
  const [posts, others] = [await postsOf(channel, 20), await postsOf(other, 20)];
  const attempts = [
    ...posts.map((post, index) => post.attempt(index % 2 === 0 ? another : undefined)),
    ...others.map((post) => post.attempt()),
  ];
  await untilUnderWay(network, 20);

  t.like(await (await stranger.newPost(['Elsewhere'])).attempt(), { status: 'published' });
  t.is(network.so.underWay, 20);
  network.answer();
  const ends = await Promise.all(attempts);
  t.is(network.so.most, 20);
  t.is(countOf(ends, 'done'), 20);
  t.is(network.sends.length, 21);
});

test('the posts of one workspace leave slots of a server to other workspaces', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const other = await neighbour(t, network);
  const crowd = await beginEach(network, await postsOf(channel, 15));
  const [sixteenth] = await postsOf(channel, 1);
  t.like(await sixteenth?.attempt(), { kind: 'again', code: 'paced' });
  const single = (await other.newPost(['Single'])).attempt();
  await untilUnderWay(network, 16);
  network.answer();

  t.like(await single, { kind: 'done', status: 'published' });
  t.is(countOf(await Promise.all(crowd), 'done'), 15);
});

test('an attempt without a slot sends nothing, does not count, stores the reason and is repeated', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const [last, ...first] = await postsOf(channel, 16);
  const hanging = await beginEach(network, first);
  channel.pass(8 * second);

  const attempted = await last?.attempt();
  t.like(attempted, { kind: 'again', code: 'paced' });
  const inMs = (attempted?.kind === 'again' && attempted.inMs) || 0;
  t.true(inMs >= 4 * second && inMs <= 12 * second, `${inMs}`);
  const row = await last?.row();
  t.like(row, { status: 'retrying', errorCode: 'paced', tries: 0 });
  t.regex(
    row?.error ?? '',
    /^Nothing was sent: the limit of concurrent posts to https:\/\/fake\.example, or of this workspace to the network, is reached\. This does not count as an attempt\. The next attempt is at /v,
  );
  network.answer();
  await Promise.all(hanging);
  t.like(await last?.attempt(), { status: 'published' });
});

test('each attempt releases its slot, however it ends', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const ends: Fate[] = [
    { kind: 'taken' },
    fails('content_refused'),
    fails('network_unavailable'),
    { kind: 'vanished' },
  ];
  for (let round = 0; round < 6; round += 1) {
    for (const end of ends) {
      network.fates.push(end);
      const attempted = await (await channel.newPost([crypto.randomUUID()])).attempt();
      t.not(attempted.kind === 'again' && attempted.code, 'paced');
    }
  }

  const cancelled = await channel.newPost(['Cancelled']);
  await channel.deps.orm.em
    .fork()
    .execute(`update posts set status = 'draft' where id = ?`, [cancelled.postId]);
  t.like(await cancelled.attempt(), { kind: 'done', status: 'draft' });
  const held = await channel.deps.orm.em
    .fork()
    .execute<unknown[]>(
      'select 1 from server_places where platform = ? and taken_until is not null',
      [network.id],
    );
  t.is(held.length, 0);
});

test('a server that responded just now gets more than 20 concurrent attempts', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const first = (await channel.newPost(['First'])).attempt();
  await untilUnderWay(network, 1);
  network.answer();
  t.like(await first, { status: 'published' });

  const answering = hangingNetwork();
  Object.assign(network, { prepare: answering.prepare });
  const crowd = await beginEach(answering, await postsOf(channel, 45));
  const [next] = await postsOf(channel, 1);
  t.like(await next?.attempt(), { kind: 'again', code: 'paced' });
  answering.answer();
  t.is(countOf(await Promise.all(crowd), 'done'), 45);
});

test('the slot of a dead worker is released after its lease', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  t.like(await (await channel.newPost(['First'])).attempt(), { status: 'published' });
  const sql = `update server_places set post_channel_id = gen_random_uuid(), taken_at = clock_timestamp(),
    taken_until = clock_timestamp() + interval '15 seconds' where platform = ?`;
  await channel.deps.orm.em.fork().execute(sql, [network.id]); // Slots of attempts whose workers died.
  const waiting = await channel.newPost(['Waiting']);
  t.like(await waiting.attempt(), { code: 'paced' });
  channel.pass(10 * second);
  t.like(await waiting.attempt(), { code: 'paced' });
  channel.pass(6 * second);
  t.like(await waiting.attempt(), { status: 'published' });
});

test('paths on one host share the slots of one server', async (t) => {
  const network = hangingNetwork('https://fake.example/s1');
  const channel = await newChannel(t, network);
  const first = await neighbour(t, network, 'https://fake.example/s1');
  const another = await neighbour(t, network, 'https://fake.example/s2');
  const crowd = await beginEach(network, [
    ...(await postsOf(first, 15)),
    ...(await postsOf(await neighbour(t, network, 'https://fake.example/s1'), 5)),
  ]);
  t.like(await (await another.newPost(['Another path'])).attempt(), { kind: 'again' });
  network.answer();
  t.is(countOf(await Promise.all(crowd), 'done'), 20);
  t.like(await (await channel.newPost(['The host'])).attempt(), { status: 'published' });
});

test('a workspace with many slow servers leaves slots of the network to others', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const other = await neighbour(t, network);
  t.like(await (await channel.newPost(['First'])).attempt(), { status: 'published' });
  const held = (count: number) =>
    channel.deps.orm.em.fork().execute(
      `insert into server_places (platform, base_url, place, workspace_id, post_channel_id, taken_at, taken_until)
        select ?, 'https://slow' || number || '.example', 0, ?, gen_random_uuid(), clock_timestamp(),
          clock_timestamp() + interval '15 seconds' from generate_series(1, ?) number
        on conflict do nothing`,
      [network.id, channel.workspaceId, count],
    );
  await held(59);
  t.like(await (await channel.newPost(['Below the bound'])).attempt(), { status: 'published' });
  await held(60);
  t.like(await (await channel.newPost(['Beyond'])).attempt(), {
    kind: 'again',
    code: 'paced',
  });
  t.like(await (await other.newPost(['Of another'])).attempt(), { status: 'published' });
});

const minute = 60 * second;

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
