import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { down, fails, fakeNetwork, liveTexts, type FakeNetwork } from '../support/networks.ts';
import { postSteps, type PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const hour = 60 * minute;
const database = beforeTests(test, freshDatabase);

/** A post that was sent, and whose answer was lost together with every look since. */
async function doubtful(
  t: ExecutionContext,
  network: FakeNetwork,
  { fate = 'lost', thread = ['Hello'] }: { fate?: 'lost' | 'vanished'; thread?: string[] } = {},
) {
  const steps = await postSteps(t, { a: network }, database().url);
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ thread, channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  const id = go.targets[0]?.postChannelId ?? '';
  network.fates.push({ kind: fate });
  network.blind = down;
  const waits = await tryFor(steps, { post, id, forMs: 0 });
  return { steps, post, go, id, waits };
}

/** Tries until so much time has passed, at the times that the tries ask for. @returns the waits in milliseconds. */
async function tryFor(
  steps: PostSteps,
  { post, id, forMs }: { post: string; id: string; forMs: number },
): Promise<number[]> {
  const waits: number[] = [];
  for (let passedMs = 0; passedMs <= forMs && waits.length < 200;) {
    const tried = await steps.attempt(post, id);
    if (tried.kind === 'done') {
      return waits;
    }

    const waitMs = Math.max(tried.inMs ?? 0, 1);
    steps.pass(waitMs);
    passedMs += waitMs;
    waits.push(waitMs);
  }

  return waits;
}

const shown = async (steps: PostSteps, post: string) => (await steps.show(post)).channels[0];

test('a post whose network is down for an hour, right after it was sent, is found when the network is back', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, go, id } = await doubtful(t, network);
  const waits = await tryFor(steps, { post, id, forMs: hour });

  t.true(
    waits.every((wait, index) => wait >= (waits[index - 1] ?? 30_000)),
    waits.join(),
  );
  const channel = await shown(steps, post);
  t.like(channel, { status: 'retrying', error_code: 'network_unavailable' });
  t.regex(channel?.error ?? '', /not known yet.*is asked again/v);
  t.truthy(channel?.retry_at);

  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is((await steps.finalize(post, go)).status, 'published');
  t.is(network.sends.length, 1);
});

test('a post that never arrived goes out once a network that was down for hours says so', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network, { fate: 'vanished' });
  await tryFor(steps, { post, id, forMs: 5 * hour });

  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
  t.is(network.sends.length, 2);
});

test('a day after its time a post that nobody can find out about is looked for once more, and ends unconfirmed', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id, waits } = await doubtful(t, network);
  const more = await tryFor(steps, { post, id, forMs: 30 * hour });

  t.is(sum([...waits, ...more]), 24 * hour);
  t.like(await shown(steps, post), { status: 'unconfirmed', error_code: 'unconfirmed' });
  t.regex((await shown(steps, post))?.error ?? '', /may or may not/v);
  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
  t.is(network.sends.length, 1);
});

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

for (const [fate, status, code] of [
  ['lost', 'published', null],
  ['vanished', 'failed', 'too_late'],
] as const) {
  test(`the last look, a day after its time, at a post that was ${fate}: it is ${status}, and nothing is sent`, async (t) => {
    const network = fakeNetwork(minute);
    const { steps, post, id } = await doubtful(t, network, { fate });
    steps.pass(24 * hour);
    network.blind = undefined;
    t.like(await steps.attempt(post, id), { kind: 'done', status });
    t.like(await shown(steps, post), { status, error_code: code });
    t.is(network.sends.length, 1);
  });
}

test('a network that cannot tell ends the doubt at once: the channel is unconfirmed', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network);
  network.blind = new NetworkError('unconfirmed', 'Too many posts.', { taken: 'unknown' });
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
});

test('a channel that loses its access while it is looked for is told of once, and looks on when it is connected again', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network);
  await steps.subscribe('channel.needs_reconnect');
  network.blind = new NetworkError('access_lost', 'They said no.', { taken: 'no' });
  for (let look = 0; look < 3; look += 1) {
    const tried = await steps.attempt(post, id);
    t.like(tried, { kind: 'again', code: 'access_lost' });
    steps.pass(tried.kind === 'again' ? (tried.inMs ?? 0) : 0);
  }

  t.regex((await shown(steps, post))?.error ?? '', /Connect the channel again/v);
  const told = await steps.deps.orm.em
    .fork()
    .execute<object[]>(
      `select d.synced_round from events e join deliveries d on d.event_id = e.id where e.workspace_id = ? and e.type = 'channel.needs_reconnect'`,
      [steps.workspaceId],
    );
  t.deepEqual(told, [{ synced_round: 0 }]); // By the outbox, as the workflow waits for the channel.

  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
});

test('looks are no tries: a post that was looked for all day still has its other sends', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network, { fate: 'vanished' });
  await tryFor(steps, { post, id, forMs: 3 * hour });
  network.blind = undefined;
  network.fates.push(...Array.from({ length: 9 }, () => fails('network_unavailable')));
  await tryFor(steps, { post, id, forMs: 12 * hour });

  t.is(network.sends.length, 5);
  t.like(await shown(steps, post), { status: 'failed', error_code: 'network_unavailable' });
});

test('a network that swallows every send gets five of them, and then the post has failed', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network, { fate: 'vanished' });
  network.blind = undefined;
  network.fates.push(...Array.from({ length: 9 }, () => ({ kind: 'vanished' }) as const));
  await tryFor(steps, { post, id, forMs: 12 * hour });

  t.is(network.sends.length, 5);
  t.like(await shown(steps, post), { status: 'failed', error_code: 'network_unavailable' });
});

test('a rate limit that a look meets holds for the time that it names, and then the look is made', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network);
  const retryAtMs = steps.deps.now().getTime() + 7 * minute;
  network.blind = new NetworkError('rate_limited', 'Slowly.', { taken: 'no', retryAtMs });
  t.deepEqual(await steps.attempt(post, id), {
    kind: 'again',
    code: 'rate_limited',
    inMs: 7 * minute,
  });
  network.blind = undefined;
  steps.pass(7 * minute);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
});

/** A network that writes a thread at once, whose parts name the one before them when they are prepared. */
function atomicNetwork() {
  const network = fakeNetwork(0);
  const records: { key: string; text: string; below: string | null }[] = [];
  const sentOf = (key: string) => ({ remoteId: key, url: `https://fake.example/${key}` });
  return Object.assign(network, {
    records,
    threads: 'atomic' as const,
    prepare: async (...[, parts, , before = []]: Parameters<FakeNetwork['prepare']>) => {
      let below = before.at(-1)?.key ?? null;
      return parts.map(({ key, text, media }) => {
        const data = { below };
        below = key;
        return { key, text, media, data };
      });
    },
    send: async (...[, { parts }]: Parameters<FakeNetwork['send']>) => {
      network.sends.push(...parts.map(({ key }) => key));
      const fate = network.fates.shift() ?? { kind: 'taken' };
      if (fate.kind !== 'vanished') {
        for (const { key, text, data } of parts) {
          records.push({ key, text, ...(data as { below: string | null }) });
        }
      }

      if (fate.kind !== 'taken') {
        throw down;
      }

      return parts.map(({ key }) => sentOf(key));
    },
    /** One record proves all of them, as they are written at once. */
    reconcile: async (...[, { parts }]: Parameters<FakeNetwork['reconcile']>) => {
      if (network.blind) {
        throw network.blind;
      }

      const isThere = parts.some(({ key }) => records.some((record) => record.key === key));
      return isThere
        ? { kind: 'found' as const, candidates: [parts.map(({ key }) => sentOf(key))] }
        : { kind: 'absent' as const };
    },
  });
}

for (const fate of ['lost', 'vanished'] as const) {
  test(`a thread that was ${fate}, cancelled, lengthened and scheduled anew is one whole thread`, async (t) => {
    const network = atomicNetwork();
    const { steps, post } = await doubtful(t, network, { fate, thread: ['One', 'Two'] });
    await steps.cancel(post); // Its workflow is lost: nobody ends it.
    await steps.edit(post, { thread: ['One', 'Two', 'Three'], schedule_in_minutes: 0 });
    network.blind = undefined;
    const again = await steps.claimOrThrow(post);
    steps.pass(2 * minute);
    await steps.attemptAll(post, again);
    t.is((await steps.finalize(post, again)).status, 'published');

    const { records } = network;
    t.deepEqual(
      records.map(({ text, below }) => [
        text,
        records.find(({ key }) => key === below)?.text ?? null,
      ]),
      [
        ['One', null],
        ['Two', 'One'],
        ['Three', 'Two'],
      ],
    );
  });
}

test('a look that finds only part of a thread goes on after it', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await doubtful(t, network, { thread: ['One', 'Two'] });
  network.blind = undefined;
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['One', 'Two']);
});
