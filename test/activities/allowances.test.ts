import test, { type ExecutionContext } from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, liveTexts, type FakeNetwork } from '../support/networks.ts';
import { channelOfAnother, postsOf } from '../support/servers.ts';

const [minute, hour] = [60_000, 3_600_000];
const midnight = '2026-05-02T00:00:00.000Z'; // Test clocks start at noon.

const database = beforeTests(test, freshDatabase);

/** A network that limits how many posts a workspace publishes per day. */
const limitedTo = (perDay: number): FakeNetwork =>
  Object.assign(fakeNetwork(), {
    id: crypto.randomUUID(),
    allowance: { perDay, unit: 'posts', setting: 'PUNCTUAL_TEST_POSTS', cost: () => 1 },
  });

const newChannel = (t: ExecutionContext, network: FakeNetwork) =>
  clockedChannel(t, network, database().url);

const usedOn = async ({ deps, workspaceId }: ClockedChannel, day: string): Promise<number> => {
  const rows = await deps.orm.em
    .fork()
    .execute<{ used: number }[]>(
      'select used from network_use where workspace_id = ? and day = ?::date',
      [workspaceId, day],
    );
  return rows[0]?.used ?? 0;
};

test('a workspace that has used its allowance waits until midnight UTC, while another workspace publishes', async (t) => {
  const network = limitedTo(2);
  const channel = await newChannel(t, network);
  const other = await channelOfAnother(t, database().url, network);
  const [first, second, third] = await postsOf(channel, 3);
  t.like(await first?.attempt(), { status: 'published' });
  t.like(await second?.attempt(), { status: 'published' });

  // The retry comes after 15 minutes, because the operator may have raised the allowance.
  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'paced', inMs: 15 * minute });
  const row = await third?.row();
  t.like(row, { status: 'retrying', errorCode: 'paced', tries: 0 });
  t.is(row?.retryAt?.toISOString(), midnight);
  t.is(
    row?.error,
    `This workspace has used its allowance of 2 posts for this day (UTC) on the network "${network.id}". The operator sets it with PUNCTUAL_TEST_POSTS. The next attempt is at ${midnight}.`,
  );
  t.like(await (await other.newPost(['Of another'])).attempt(), { status: 'published' });

  channel.pass(11 * hour);
  t.deepEqual(await third?.attempt(), { kind: 'again', code: 'paced', inMs: 15 * minute });
  t.is((await third?.row())?.retryAt?.toISOString(), midnight);
  channel.pass(hour);
  t.like(await third?.attempt(), { status: 'published' });
  t.is(await usedOn(channel, '2026-05-01'), 2);
  t.is(await usedOn(channel, '2026-05-02'), 1);
});

test('concurrent posts do not exceed the allowance', async (t) => {
  const network = limitedTo(3);
  const channel = await newChannel(t, network);
  const posts = await postsOf(channel, 8);
  const ends = await Promise.all(posts.map((post) => post.attempt()));
  t.is(ends.filter(({ kind }) => kind === 'done').length, 3);
  t.is(network.sends.length, 3);
});

test('overdue posts that wait for the allowance do not retry every two seconds', async (t) => {
  const network = limitedTo(1);
  const channel = await newChannel(t, network);
  const [first, ...waiting] = await postsOf(channel, 3);
  await first?.attempt();
  channel.pass(5 * minute);
  for (const post of [...waiting, ...waiting]) {
    t.deepEqual(await post.attempt(), { kind: 'again', code: 'paced', inMs: 15 * minute });
  }
});

test('each part of a thread counts, and a started thread is sent completely', async (t) => {
  const network = limitedTo(2);
  const channel = await newChannel(t, network);
  t.like(await (await channel.newPost(['1/3', '2/3', '3/3'])).attempt(), { status: 'published' });
  t.is(await usedOn(channel, '2026-05-01'), 3);
  t.like(await (await channel.newPost(['Next'])).attempt(), { code: 'paced' });
});

test('a refused post does not count against the allowance, and a post that may be live does', async (t) => {
  const network = limitedTo(10);
  const channel = await newChannel(t, network);
  network.fates.push(fails('content_refused'));
  t.like(await (await channel.newPost(['Refused'])).attempt(), { status: 'failed' });
  t.is(await usedOn(channel, '2026-05-01'), 0);

  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  t.like(await (await channel.newPost(['1/3', '2/3', '3/3'])).attempt(), { kind: 'again' });
  t.is(await usedOn(channel, '2026-05-01'), 1);

  network.fates.push({ kind: 'lost' });
  t.like(await (await channel.newPost(['Lost answer'])).attempt(), { status: 'published' });
  t.is(await usedOn(channel, '2026-05-01'), 2);
});

test('a thread with a live part continues when the allowance is used up', async (t) => {
  const network = limitedTo(2);
  const channel = await newChannel(t, network);
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  const thread = await channel.newPost(['1/2', '2/2']);
  t.like(await thread.attempt(), { kind: 'again' });
  t.like(await (await channel.newPost(['Single'])).attempt(), { status: 'published' });
  t.like(await (await channel.newPost(['Waits'])).attempt(), { code: 'paced' });
  channel.pass(minute / 2);
  t.like(await thread.attempt(), { status: 'published' });
  t.deepEqual(liveTexts(network), ['1/2', 'Single', '2/2']);
});

test('posts to the sandbox do not count against the allowance', async (t) => {
  const network = limitedTo(1);
  const channel = await newChannel(t, network);
  const worker = channel.newWorker({ sandboxUrl: 'https://fake.example' });
  for (const post of await postsOf(channel, 3)) {
    t.like(await post.attempt(worker), { status: 'published' });
  }

  t.is(await usedOn(channel, '2026-05-01'), 0);
});
