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

/** A unique name, because some limits hold for all workspaces on a server or a network. */
const limitedNetwork = () => Object.assign(fakeNetwork(), { id: crypto.randomUUID() });

const anotherChannel = (
  { deps, workspaceId }: ClockedChannel,
  account: Parameters<typeof addFakeChannel>[3],
): Promise<string> => addFakeChannel(deps, workspaceId, Object.keys(deps.networks)[0], account);

/** A rate limit that ends in `inMs` milliseconds. */
function refusal({ deps }: ClockedChannel, inMs: number, limit: LimitScope = 'channel') {
  const retryAtMs = deps.now().getTime() + inMs;
  return new NetworkError('rate_limited', 'Slowly.', { accepted: 'no', retryAtMs, limit });
}

/** A fate for the network's next response. */
const limited = (...args: Parameters<typeof refusal>) =>
  ({ kind: 'fails', error: refusal(...args) }) as const;

test('a rate limit that one worker met holds for all posts of the channel on all workers, also for retries', async (t) => {
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
    'The network limits how often this account may post, and the limit is used up until 2026-05-01T12:07:00.000Z. The next attempt is at 2026-05-01T12:07:00.000Z.',
  );
});

test('a post that prepares while another one meets the limit is not sent', async (t) => {
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

test("a server's limit holds for all channels on that server only; a network's limit holds for all", async (t) => {
  for (const [limit, waits] of [
    ['channel', [true, false, false]],
    ['server', [true, true, false]],
    ['network', [true, true, true]],
  ] as const) {
    const network = limitedNetwork();
    const channel = await newChannel(t, network);
    const neighbour = await anotherChannel(channel, { remoteId: 'you' });
    const stranger = await anotherChannel(channel, { baseUrl: 'https://other.example' });
    network.fates.push(limited(channel, 3 * minute, limit));
    await (await channel.newPost(['First'])).attempt();

    for (const [index, goesTo] of [channel.channelId, neighbour, stranger].entries()) {
      const outcome = await (await channel.newPost(['x'], [], goesTo)).attempt();
      t.is(outcome.kind, waits[index] ? 'again' : 'done', `${limit} ${index}`);
    }
    t.is(network.sends.length, 1 + waits.filter((wait) => !wait).length);
  }
});

test('a later response never shortens a limit, and a limit ends without a request', async (t) => {
  for (const limit of ['channel', 'server', 'network'] as const) {
    const network = limitedNetwork();
    const channel = await newChannel(t, network);
    const [long, short] = [await channel.newPost(['Long']), await channel.newPost(['Short'])];
    // Both are running, and the shorter limit is reported last.
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

test('a limit beyond the publish window of a post fails that post, and holds for the others', async (t) => {
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
  t.regex(
    row.error ?? '',
    /^Slowly\. It cannot go out within a day of its time\. Retry the post /v,
  );
});

/** Posts whose due times are a second apart, all overdue by more than a minute. */
async function overdue(channel: ClockedChannel, count: number): Promise<ClaimedPost[]> {
  const posts: ClaimedPost[] = [];
  for (let number = 1; number <= count; number++) {
    posts.push(await channel.newPost([`Post ${number}`]));
    channel.pass(1000);
  }

  channel.pass(2 * minute);
  const { deps, workspaceId } = channel;
  const claimed = [deps.now(), workspaceId]; // As a worker that claims them all after an outage.
  await deps.orm.em.execute('update posts set updated_at = ? where workspace_id = ?', claimed);
  return posts;
}

test('overdue posts of a channel go out in the order of their due times, 2 s apart, whichever worker attempts first', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const other = channel.newWorker();
  const [first, middle, third] = await overdue(channel, 3);

  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'paced', inMs: 4000 });
  t.deepEqual(await middle?.attempt(other), { kind: 'again', code: 'paced', inMs: 2000 });
  t.like(await third?.row(), { status: 'retrying', tries: 0, errorCode: 'paced' });
  t.is(
    (await third?.row())?.error,
    'Overdue posts of a channel go out one after the other, 2 s apart, and 2 of them go before this one. The next attempt is at 2026-05-01T12:02:07.000Z.',
  );
  t.like(await first?.attempt(), { status: 'published' });
  channel.pass(2_000);
  t.like(await third?.attempt(other), { inMs: 2000 });
  t.like(await middle?.attempt(), { status: 'published' });
  channel.pass(1999);
  t.like(await third?.attempt(), { inMs: 100 }); // Its turn is exact; a retry delay has this minimum.
  channel.pass(1);
  t.like(await third?.attempt(), { status: 'published' });
  t.deepEqual(liveTexts(network), ['Post 1', 'Post 2', 'Post 3']);
});

test('overdue posts do not delay a post on time or a post on another channel', async (t) => {
  const channel = await newChannel(t);
  await overdue(channel, 3);
  const punctual = await channel.newPost(['On time']);
  channel.pass(minute);
  t.like(await punctual.attempt(), { status: 'published' });
});

test('overdue posts that two workers attempt at once keep their order, one at a time', async (t) => {
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

test('an overdue post that failed for its own reason is passed over until its next attempt', async (t) => {
  const network = limitedNetwork();
  const channel = await newChannel(t, network);
  const [first, next] = await overdue(channel, 2);
  network.fates.push(fails('network_unavailable'));
  t.like(await first?.attempt(), { code: 'network_unavailable', inMs: minute / 2 });

  channel.pass(2_000);
  t.like(await next?.attempt(), { status: 'published' });
});

test('posts behind a cancelled post continue', async (t) => {
  const channel = await newChannel(t);
  const [first, next] = await overdue(channel, 2);
  t.like(await next?.attempt(), { kind: 'again' });
  await channel.deps.orm.em
    .fork()
    .execute(`update post_channels set status = 'draft' where post_id = ?`, [first?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
});

test('posts without further attempts stop others for two minutes at most', async (t) => {
  const channel = await newChannel(t);
  const [unattempted, dead, unclaimed, last] = await overdue(channel, 4);
  const em = channel.deps.orm.em.fork();
  await em.execute(
    `update post_channels set status = 'publishing', tried_at = ? where post_id = ?`,
    [channel.deps.now(), dead?.postId],
  );
  await em.execute(`update posts set status = 'scheduled' where id = ?`, [unclaimed?.postId]);

  t.like(await last?.attempt(), { inMs: 6000 });
  channel.pass(31_000); // A post that is still unclaimed does not count as overdue any more.
  t.like(await last?.attempt(), { inMs: 4000 });
  channel.pass(85_000);
  t.like(await last?.attempt(), { inMs: 4000 });
  channel.pass(5_000);
  t.like(await last?.attempt(), { status: 'published' });
  t.is((await unattempted?.row())?.status, 'scheduled');
});

test('a retried post counts as overdue from its retry, not from its original time', async (t) => {
  const channel = await newChannel(t);
  const [first, next] = await overdue(channel, 2);
  await channel.deps.orm.em
    .fork()
    .execute('update posts set retried_at = ? where id = ?', [channel.deps.now(), next?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
  t.is((await first?.row())?.status, 'scheduled');
});
