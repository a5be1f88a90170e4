import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld, type LedgerPost, type LedgerWorld } from '../support/ledger-world.ts';

const second = 1000;
const minute = 60 * second;

/** Posts whose times are a second apart, all of them overdue by more than a minute. */
async function overdue(world: LedgerWorld, count: number): Promise<LedgerPost[]> {
  const posts: LedgerPost[] = [];
  for (let number = 1; number <= count; number++) {
    posts.push(await world.newPost([`Post ${number}`]));
    world.pass(second);
  }

  world.pass(2 * minute);
  await claimedAt(world);
  return posts;
}

/** The worker that was away claims them all now. */
const claimedAt = ({ deps }: LedgerWorld): Promise<unknown> =>
  deps.orm.em.fork().execute('update posts set updated_at = ?', [deps.now()]);

const texts = ({ live }: ReturnType<typeof fakeNetwork>): string[] => live.map(({ text }) => text);

test('overdue posts of a channel go out in the order of their times, 2 s apart, whichever worker asks first', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const other = world.newWorker();
  const [first, middle, third] = await overdue(world, 3);

  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'rate_limited', inMs: 4000 });
  t.deepEqual(await middle?.attempt(other), { kind: 'again', code: 'rate_limited', inMs: 2000 });
  t.like(await third?.row(), { status: 'retrying', tries: 0, errorCode: 'rate_limited' });
  t.is(
    (await third?.row())?.error,
    'Overdue posts of a channel go out one after the other, 2 s apart, and 2 of them go before this one. It is tried again by itself at 2026-05-01T12:02:07.000Z.',
  );
  t.like(await first?.attempt(), { status: 'published' });
  world.pass(2 * second);
  t.like(await third?.attempt(other), { inMs: 2000 });
  t.like(await middle?.attempt(), { status: 'published' });
  world.pass(1999);
  t.like(await third?.attempt(), { inMs: 100 }); // By the millisecond, and Temporal is not asked sooner than this.
  world.pass(1);
  t.like(await third?.attempt(), { status: 'published' });
  t.deepEqual(texts(network), ['Post 1', 'Post 2', 'Post 3']);
});

test('a post on time is not held up by overdue ones, nor a post on another channel', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  await overdue(world, 3);
  const punctual = await world.newPost(['On time']);
  world.pass(minute);
  t.like(await punctual.attempt(), { status: 'published' });
});

test('asked all at once by two workers, overdue posts keep their order, and one goes at a time', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const workers = [world.newWorker(), world.newWorker()];
  const posts = await overdue(world, 6);
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
    world.pass(2 * second);
  }

  t.deepEqual(
    texts(network),
    posts.map((_, index) => `Post ${index + 1}`),
  );
});

test('overdue posts that come back from failures of their own at the same moment go one at a time too', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const workers = [world.newWorker(), world.newWorker()];
  const em = world.deps.orm.em.fork();
  for (let round = 1; round <= 5; round++) {
    const posts = await overdue(world, 4);
    await em.execute(
      `update post_channels set status = 'retrying', error_code = 'network_unavailable', retry_at = ?
       where status = 'scheduled'`,
      [new Date(world.deps.now().getTime() + minute)],
    );
    await Promise.all(posts.map((post, index) => post.attempt(workers[index % 2])));
    t.is(network.live.length, round);
    await em.execute(`update post_channels set status = 'draft' where status = 'retrying'`);
  }
});

test('an overdue post that failed for a reason of its own is passed over until its next try', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const [first, next] = await overdue(world, 2);
  const busy = new NetworkError('network_unavailable', 'Busy.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: busy });
  t.like(await first?.attempt(), { code: 'network_unavailable', inMs: minute / 2 });

  world.pass(2 * second);
  t.like(await next?.attempt(), { status: 'published' });
});

test('a cancelled post makes room, and what waits behind it goes on', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const [first, next] = await overdue(world, 2);
  t.like(await next?.attempt(), { kind: 'again' });
  await world.deps.orm.em
    .fork()
    .execute(`update post_channels set status = 'draft' where post_id = ?`, [first?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
});

test('posts that nobody comes back to stop no other one for longer than two minutes', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const [untried, dead, unclaimed, last] = await overdue(world, 4);
  const em = world.deps.orm.em.fork();
  await em.execute(
    `update post_channels set status = 'publishing', tried_at = ? where post_id = ?`,
    [world.deps.now(), dead?.postId],
  );
  await em.execute(`update posts set status = 'scheduled' where id = ?`, [unclaimed?.postId]);

  t.like(await last?.attempt(), { inMs: 6000 });
  world.pass(31 * second); // What is still not claimed was not among those that all came back to life.
  t.like(await last?.attempt(), { inMs: 4000 });
  world.pass(85 * second);
  t.like(await last?.attempt(), { inMs: 4000 });
  world.pass(5 * second);
  t.like(await last?.attempt(), { status: 'published' });
  t.is((await untried?.row())?.status, 'scheduled');
});

test('a retry is not overdue from the day of the post, but from its own time', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const [first, next] = await overdue(world, 2);
  await world.deps.orm.em
    .fork()
    .execute('update posts set retried_at = ? where id = ?', [world.deps.now(), next?.postId]);

  t.like(await next?.attempt(), { status: 'published' });
  t.is((await first?.row())?.status, 'scheduled');
});
