import test, { type ExecutionContext } from 'ava';
import type { LimitScope } from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, liveTexts } from '../support/networks.ts';
import { addFakeChannel } from '../support/seed.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);
const newChannel = (t: ExecutionContext, network = limitedNetwork()) =>
  clockedChannel(t, network, database().url);

/** With a name of its own: some limits hold for all workspaces on a server or on a network. */
const limitedNetwork = () => Object.assign(fakeNetwork(), { id: crypto.randomUUID() });

const anotherChannel = (
  { deps, workspaceId }: ClockedChannel,
  account: Parameters<typeof addFakeChannel>[3],
): Promise<string> => addFakeChannel(deps, workspaceId, Object.keys(deps.networks)[0], account);

/** The network takes nothing before these milliseconds have passed. */
function refusal({ deps }: ClockedChannel, inMs: number, limit: LimitScope = 'channel') {
  const retryAtMs = deps.now().getTime() + inMs;
  return new NetworkError('rate_limited', 'Slowly.', { taken: 'no', retryAtMs, limit });
}

/** The network's next answer. */
const limited = (...args: Parameters<typeof refusal>) =>
  ({ kind: 'fails', error: refusal(...args) }) as const;

test('a limit that one worker met holds for the posts of the channel at all workers, also for one that waits to be tried again', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const other = channel.newWorker();
  const [first, second, third] = [
    await channel.newPost(['One']),
    await channel.newPost(['Two']),
    await channel.newPost(['Three']),
  ];
  network.fates.push(fails('network_unavailable'));
  t.like(await second.attempt(other), { kind: 'again', inMs: minute / 2 });
  network.fates.push(limited(channel, 7 * minute));
  t.like(await first.attempt(), { code: 'rate_limited', inMs: 7 * minute });

  channel.pass(minute / 2);
  t.deepEqual(await second.attempt(other), {
    kind: 'again',
    code: 'rate_limited',
    inMs: 6.5 * minute,
  });
  t.like(await third.attempt(other), { code: 'rate_limited', inMs: 6.5 * minute });
  t.is(network.sends.length, 2);
  const { error } = await third.row();
  t.is(
    error,
    'The network limits how often this account may post, and the limit is used up until 2026-05-01T12:07:00.000Z. It is tried again by itself at 2026-05-01T12:07:00.000Z.',
  );
});

test('a post that prepares to send while another one meets the limit is not sent', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const other = channel.newWorker();
  const [first, second] = [await channel.newPost(['One']), await channel.newPost(['Two'])];
  const { upload } = network;
  network.upload = async (...args) => {
    network.upload = upload;
    network.fates.push(limited(channel, minute));
    t.like(await second.attempt(other), { kind: 'again' });
    return upload(...args);
  };

  t.like(await first.attempt(), { kind: 'again', code: 'rate_limited', inMs: minute });
  t.is(network.sends.length, 1);
  channel.pass(minute);
  t.like(await first.attempt(), { kind: 'done', status: 'published' });
});

test("a server's limit holds for all channels on it, and for no other server; a network's for all", async (t) => {
  for (const [limit, waits] of [
    ['channel', [true, false, false]],
    ['server', [true, true, false]],
    ['network', [true, true, true]],
  ] as const) {
    const network = limitedNetwork();
    const channel = await newChannel(t, network);
    const other = channel.newWorker();
    const neighbour = await anotherChannel(channel, { remoteId: 'you' });
    const stranger = await anotherChannel(channel, { baseUrl: 'https://other.example' });
    network.fates.push(limited(channel, 3 * minute, limit));
    await (await channel.newPost(['First'])).attempt();

    for (const [index, goesTo] of [channel.channelId, neighbour, stranger].entries()) {
      const outcome = await (await channel.newPost(['x'], [], goesTo)).attempt(other);
      t.is(outcome.kind, waits[index] ? 'again' : 'done', `${limit} ${index}`);
    }
    t.is(network.sends.length, 1 + waits.filter((wait) => !wait).length);
  }
});

test('who waits for a limit reads which one it is', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const neighbour = await anotherChannel(channel, { remoteId: 'you' });
  network.fates.push(limited(channel, minute, 'server'));
  await (await channel.newPost(['First'])).attempt();
  const post = await channel.newPost(['Second'], [], neighbour);
  await post.attempt();

  t.like(await post.row(), { status: 'retrying', errorCode: 'rate_limited', tries: 0 });
  t.regex((await post.row()).error ?? '', /^The network's server limits .* over all accounts, /v);
});

test('a limit is never shortened by a later answer, and ends by itself', async (t) => {
  for (const limit of ['channel', 'server', 'network'] as const) {
    const network = limitedNetwork();
    const channel = await newChannel(t, network);
    const [long, short] = [await channel.newPost(['Long']), await channel.newPost(['Short'])];
    // Both are under way, and the one that hears of the short limit hears of it last.
    const { send } = network;
    network.send = async () => {
      network.send = send;
      network.fates.push(limited(channel, 10 * minute, limit));
      t.like(await long.attempt(), { code: 'rate_limited', inMs: 10 * minute });
      throw refusal(channel, minute, limit);
    };
    t.like(await short.attempt(), { code: 'rate_limited', inMs: minute });

    channel.pass(2 * minute);
    t.like(await short.attempt(), { code: 'rate_limited', inMs: 8 * minute }, limit);
    channel.pass(8 * minute);
    t.like(await long.attempt(), { kind: 'done', status: 'published' }, limit);
  }
});

test('a limit that lasts longer than a post may wait ends this one, and holds for the others', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const first = await channel.newPost(['First']);
  network.fates.push(limited(channel, 25 * 60 * minute));
  t.like(await first.attempt(), { kind: 'done', status: 'failed' });

  channel.pass(2 * 60 * minute);
  const second = await channel.newPost(['Second']);
  t.like(await second.attempt(), { kind: 'again', code: 'rate_limited' });
  t.deepEqual((await second.row()).retryAt, new Date('2026-05-02T13:00:00Z'));
  const row = await first.row();
  t.is(row.errorCode, 'too_late');
  t.regex(row.error ?? '', /^Slowly\. It is given up, a day after its time\. Retry the post /v);
});

/** Posts whose times are a second apart, all of them overdue by more than a minute. */
async function overdue(channel: ClockedChannel, count: number): Promise<ClaimedPost[]> {
  const posts: ClaimedPost[] = [];
  for (let number = 1; number <= count; number++) {
    posts.push(await channel.newPost([`Post ${number}`]));
    channel.pass(1000);
  }

  channel.pass(2 * minute);
  const { deps, workspaceId } = channel;
  const claimed = [deps.now(), workspaceId]; // The worker that was away claims them all now.
  await deps.orm.em.execute('update posts set updated_at = ? where workspace_id = ?', claimed);
  return posts;
}

test('overdue posts of a channel go out in the order of their times, 2 s apart, whichever worker asks first', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const other = channel.newWorker();
  const [first, middle, third] = await overdue(channel, 3);

  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'paced', inMs: 4000 });
  t.deepEqual(await middle?.attempt(other), { kind: 'again', code: 'paced', inMs: 2000 });
  t.like(await third?.row(), { status: 'retrying', tries: 0, errorCode: 'paced' });
  t.is(
    (await third?.row())?.error,
    'Overdue posts of a channel go out one after the other, 2 s apart, and 2 of them go before this one. It is tried again by itself at 2026-05-01T12:02:07.000Z.',
  );
  t.like(await first?.attempt(), { status: 'published' });
  channel.pass(2_000);
  t.like(await third?.attempt(other), { inMs: 2000 });
  t.like(await middle?.attempt(), { status: 'published' });
  channel.pass(1999);
  t.like(await third?.attempt(), { inMs: 100 }); // By the millisecond, and Temporal is not asked sooner than this.
  channel.pass(1);
  t.like(await third?.attempt(), { status: 'published' });
  t.deepEqual(liveTexts(network), ['Post 1', 'Post 2', 'Post 3']);
});

test('a post on time is not held up by overdue ones, nor a post on another channel', async (t) => {
  const channel = await newChannel(t);
  await overdue(channel, 3);
  const punctual = await channel.newPost(['On time']);
  channel.pass(minute);
  t.like(await punctual.attempt(), { status: 'published' });
});

test('asked all at once by two workers, overdue posts keep their order, and one goes at a time', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const workers = [channel.newWorker(), channel.newWorker()];
  const posts = await overdue(channel, 6);
  const waiting = new Set(posts);
  while (waiting.size > 0) {
    const before = network.live.length;
    const tried = [...waiting].toReversed();
    const outcomes = await Promise.all(
      tried.map((post, index) => post.attempt(workers[index % 2])),
    );
    for (const [index, post] of tried.entries()) {
      if (outcomes[index]?.kind === 'done') {
        waiting.delete(post);
      }
    }
    t.is(network.live.length, before + 1);
    channel.pass(2_000);
  }

  t.deepEqual(
    liveTexts(network),
    posts.map((_, index) => `Post ${index + 1}`),
  );
});

test('overdue posts that come back from failures of their own at the same moment go one at a time too', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const workers = [channel.newWorker(), channel.newWorker()];
  const { em } = channel.deps.orm;
  for (let round = 1; round <= 5; round++) {
    const posts = await overdue(channel, 4);
    await em.execute(
      `update post_channels set status = 'retrying', error_code = 'network_unavailable', retry_at = ?
       where status = 'scheduled' and channel_id = ?`,
      [new Date(channel.deps.now().getTime() + minute), channel.channelId],
    );
    await Promise.all(posts.map((post, index) => post.attempt(workers[index % 2])));
    t.is(network.live.length, round);
    await em.execute(
      `update post_channels set status = 'draft' where status = 'retrying' and channel_id = ?`,
      [channel.channelId],
    );
  }
});

test('an overdue post that failed for a reason of its own is passed over until its next try', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const [first, next] = await overdue(channel, 2);
  network.fates.push(fails('network_unavailable'));
  t.like(await first?.attempt(), { code: 'network_unavailable', inMs: minute / 2 });

  channel.pass(2_000);
  t.like(await next?.attempt(), { status: 'published' });
});

test('a cancelled post makes room, and what waits behind it goes on', async (t) => {
  const channel = await newChannel(t);
  const [first, next] = await overdue(channel, 2);
  t.like(await next?.attempt(), { kind: 'again' });
  await channel.deps.orm.em
    .fork()
    .execute(`update post_channels set status = 'draft' where post_id = ?`, [first?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
});

test('posts that nobody comes back to stop no other one for longer than two minutes', async (t) => {
  const channel = await newChannel(t);
  const [untried, dead, unclaimed, last] = await overdue(channel, 4);
  const em = channel.deps.orm.em.fork();
  await em.execute(
    `update post_channels set status = 'publishing', tried_at = ? where post_id = ?`,
    [channel.deps.now(), dead?.postId],
  );
  await em.execute(`update posts set status = 'scheduled' where id = ?`, [unclaimed?.postId]);

  t.like(await last?.attempt(), { inMs: 6000 });
  channel.pass(31_000); // What is still not claimed was not among those that all came back to life.
  t.like(await last?.attempt(), { inMs: 4000 });
  channel.pass(85_000);
  t.like(await last?.attempt(), { inMs: 4000 });
  channel.pass(5_000);
  t.like(await last?.attempt(), { status: 'published' });
  t.is((await untried?.row())?.status, 'scheduled');
});

test('a retry is not overdue from the day of the post, but from its own time', async (t) => {
  const channel = await newChannel(t);
  const [first, next] = await overdue(channel, 2);
  await channel.deps.orm.em
    .fork()
    .execute('update posts set retried_at = ? where id = ?', [channel.deps.now(), next?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
  t.is((await first?.row())?.status, 'scheduled');
});
