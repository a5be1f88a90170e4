import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, liveTexts } from '../support/networks.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);
const newChannel = (t: ExecutionContext, network = fakeNetwork()) =>
  clockedChannel(t, network, database().url);

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
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const other = channel.newWorker();
  const [first, middle, third] = await overdue(channel, 3);

  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'rate_limited', inMs: 4000 });
  t.deepEqual(await middle?.attempt(other), { kind: 'again', code: 'rate_limited', inMs: 2000 });
  t.like(await third?.row(), { status: 'retrying', tries: 0, errorCode: 'rate_limited' });
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
  const network = fakeNetwork();
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
  const network = fakeNetwork();
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
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const [first, next] = await overdue(channel, 2);
  network.fates.push(fails('network_unavailable'));
  t.like(await first?.attempt(), { code: 'network_unavailable', inMs: minute / 2 });

  channel.pass(2_000);
  t.like(await next?.attempt(), { status: 'published' });
});

/** Posts of the channel that are due in a year: the places before an overdue one are counted in another way then. */
const scheduleMany = ({ deps, workspaceId, channelId }: ClockedChannel, count: number) =>
  deps.orm.em.fork().execute(
    `with new as (
       insert into posts (id, workspace_id, body, scheduled_at, status, created_at, updated_at)
       select uuidv7(), ?, 'Next year', '2027-05-01', 'scheduled', now(), now() from generate_series(1, ?)
       returning id, workspace_id)
     insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     select uuidv7(), workspace_id, id, ?, 0, 'scheduled' from new`,
    [workspaceId, count, channelId],
  );

for (const [scheduled, where] of [
  [0, 'its channel'],
  [600, 'a channel with hundreds of scheduled posts'],
] as const) {
  test(`a post that meets its limit again lets the others of ${where} go before it, and goes before those that are due later`, async (t) => {
    const network = fakeNetwork();
    const channel = await newChannel(t, network);
    await scheduleMany(channel, scheduled);
    const [large, second, third] = await overdue(channel, 3);
    const meetsLimit = () => {
      const retryAtMs = channel.deps.now().getTime() + 10 * minute;
      const error = new NetworkError('rate_limited', 'Slowly.', {
        taken: 'no',
        retryAtMs,
        limit: 'channel',
      });
      network.fates.push({ kind: 'fails', error });
    };
    const others = async () => [await second?.attempt(), await third?.attempt()];
    meetsLimit();
    t.like(await large?.attempt(), { code: 'rate_limited', inMs: 10 * minute });
    await others();

    // The first limit may be anybody's: the order stays.
    channel.pass(10 * minute);
    t.like(await others(), [{ inMs: 2000 }, { inMs: 4000 }]);
    meetsLimit();
    t.like(await large?.attempt(), { code: 'rate_limited', inMs: 10 * minute });
    t.like(await others(), [{ inMs: 10 * minute }, { inMs: 10 * minute }]);

    channel.pass(10 * minute);
    const later = await channel.newPost(['Due after the limit was met']);
    t.like(await large?.attempt(), { code: 'rate_limited', inMs: 4000 });
    t.like(await second?.attempt(), { status: 'published' });
    channel.pass(2000);
    t.like(await large?.attempt(), { code: 'rate_limited', inMs: 2000 });
    t.like(await third?.attempt(), { status: 'published' });
    channel.pass(2 * minute);
    t.like(await large?.attempt(), { status: 'published' });
    t.like(await later.attempt(), { code: 'rate_limited', inMs: 2000 });
  });
}

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
