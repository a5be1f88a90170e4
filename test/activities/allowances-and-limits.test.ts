import test, { type ExecutionContext } from 'ava';
import type { LimitScope } from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClockedChannel, type ClaimedPost } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, liveTexts, type FakeNetwork } from '../support/networks.ts';
import { newNetwork, postsOf } from '../support/servers.ts';

const minute = 60_000;
const hour = 60 * minute;
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
  const other = await newChannel(t, network);
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

test('posts to the sandbox do not count against the allowance', async (t) => {
  const network = limitedTo(1);
  const channel = await newChannel(t, network);
  const worker = channel.newWorker({ sandboxUrl: 'https://fake.example' });
  for (const post of await postsOf(channel, 3)) {
    t.like(await post.attempt(worker), { status: 'published' });
  }

  t.is(await usedOn(channel, '2026-05-01'), 0);
});

/** Limits the attempts of a test, which would never end if posts waited for each other. */
const maxAttempts = 3000;

const limited = (retryAtMs?: number, limit: LimitScope = 'channel') =>
  new NetworkError('rate_limited', 'Slowly.', {
    accepted: 'no',
    limit,
    ...(retryAtMs !== undefined && { retryAtMs }),
  });

async function limitedChannel(t: ExecutionContext) {
  // A unique name, because some limits hold for all workspaces on a server or a network.
  const network = Object.assign(fakeNetwork(), { id: crypto.randomUUID() });
  const channel = await clockedChannel(t, network, database().url);
  const { deps, workspaceId, pass, newPost } = channel;
  const now = (): number => deps.now().getTime();
  return {
    network,
    now,
    /** Creates posts whose due times are a second apart. */
    due: async (contents: readonly (readonly string[])[]): Promise<ClaimedPost[]> => {
      const posts: ClaimedPost[] = [];
      for (const texts of contents) {
        posts.push(await newPost(texts));
        pass(1000);
      }

      return posts;
    },
    pass,
    /** Sets the error of each send; null accepts the post. */
    refuse: (why: () => NetworkError | null): void => {
      const { send } = network;
      network.send = async (...args) => {
        const error = why();
        if (error) {
          throw error;
        }

        return send(...args);
      };
    },
    /** Claims all posts two minutes later, as a worker does after an outage, and attempts them until all have ended. */
    untilEnded: async (posts: readonly ClaimedPost[]): Promise<void> => {
      pass(2 * minute);
      const claimed = [deps.now(), workspaceId];
      await deps.orm.em.execute('update posts set updated_at = ? where workspace_id = ?', claimed);
      const next = new Map(posts.map((post) => [post, now()]));
      for (let attempt = 0; next.size > 0 && attempt < maxAttempts; attempt += 1) {
        const [first] = [...next].toSorted(([, a], [, b]) => a - b);
        if (first) {
          const [post, atMs] = first;
          pass(Math.max(0, atMs - now()));
          const outcome = await post.attempt();
          if (outcome.kind === 'again') {
            next.set(post, now() + (outcome.inMs ?? 0));
          } else {
            next.delete(post);
          }
        }
      }
    },
  };
}

for (const [scope, retryAfterMs, lastsMs] of [
  ['channel', hour, 4.5 * hour],
  ['channel', undefined, 4.5 * minute],
  ['server', undefined, 4.5 * minute],
  ['network', undefined, 4.5 * minute],
] as const) {
  const end =
    retryAfterMs === undefined ? 'without a given end' : 'that is extended by an hour at a time';
  test(`posts keep their order through a ${scope} rate limit ${end}`, async (t) => {
    const { network, now, due, refuse, untilEnded } = await limitedChannel(t);
    const posts = await due([['Episode 1'], ['Episode 2'], ['Episode 3']]);
    const endMs = now() + lastsMs;
    refuse(() => (now() < endMs ? limited(retryAfterMs && now() + retryAfterMs, scope) : null));

    await untilEnded(posts);

    t.deepEqual(liveTexts(network), ['Episode 1', 'Episode 2', 'Episode 3']);
  });
}

test('threads that need several windows of a limit go out one after the other', async (t) => {
  const { network, now, due, refuse, untilEnded } = await limitedChannel(t);
  const threads = await due([1, 2, 3].map((n) => [1, 2, 3, 4].map((part) => `${n}.${part}`)));
  let [window, sent] = [-1, 0]; // The network accepts two posts an hour.
  refuse(() => {
    const current = Math.floor(now() / hour);
    [window, sent] = current === window ? [window, sent + 1] : [current, 1];
    return sent > 2 ? limited((current + 1) * hour) : null;
  });

  await untilEnded(threads);

  t.is(liveTexts(network).join(' '), '1.1 1.2 1.3 1.4 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4');
});

test('a deleted rate limit delays its posts for at most 15 more minutes', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const [early, late] = await postsOf(channel, 2);
  const retryAtMs = channel.deps.now().getTime() + 600 * minute;
  network.fates.push(fails('rate_limited', { retryAtMs, limit: 'channel' }));
  t.like(await early?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  t.like(await late?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  channel.pass(15 * minute);
  t.like(await early?.attempt(), { code: 'rate_limited', inMs: 15 * minute });
  t.deepEqual((await early?.row())?.retryAt, new Date(retryAtMs));
  t.is(network.sends.length, 1);

  await channel.deps.orm.em
    .fork()
    .execute('update channels set parked_until = null where id = ?', [channel.channelId]);
  t.like(await early?.attempt(), { kind: 'done', status: 'published' });
});
