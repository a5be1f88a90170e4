import test from 'ava';
import { readingOf, readOneByOne } from '../../networks/metrics.ts';
import { NetworkError, type PostReading } from '../../networks/network.ts';

const reading = readingOf({ likes: 1 });
const away = new NetworkError('network_unavailable', 'Away.', { accepted: 'no' });

const broken = new NetworkError('network_unavailable', 'HTTP 500.', {
  accepted: 'no',
  server: 'answered',
});

/** For each post, in order: `read`, `unasked`, or `-` without a reading. */
const kindsOf = (ids: readonly string[], readings: ReadonlyMap<string, PostReading>): string =>
  ids.map((id) => readings.get(id)?.kind ?? '-').join(' ');

/** Fails for these posts, and returns nothing for one named `silent`. */
const failing = (failure: Error, ...at: readonly string[]) => {
  const asked: string[] = [];
  const readOne = async (id: string): Promise<PostReading | null> => {
    asked.push(id);
    if (at.includes(id)) {
      throw failure;
    }
    return id === 'silent' ? null : reading;
  };
  return { asked, readOne };
};

test('posts that a slow server returned in time are kept, and the others are left for the next read', async (t) => {
  const { asked, readOne } = failing(away);
  const ids = ['a', 'b', 'c'];
  t.is(kindsOf(ids, await readOneByOne(ids, readOne, 0)), 'read unasked unasked');
  t.deepEqual(asked, ['a'], 'at least one is read, so that reading makes progress');
  t.is(kindsOf(ids, await readOneByOne(ids, readOne)), 'read read read');
});

test('an unavailable server ends reading: an error if nothing was read, and always for our own faults', async (t) => {
  const ids = ['a', 'b', 'c'];
  const { asked, readOne } = failing(away, 'b');
  t.is(kindsOf(ids, await readOneByOne(ids, readOne)), 'read unasked unasked');
  t.deepEqual(asked, ['a', 'b']);
  await t.throwsAsync(readOneByOne(['silent', 'b'], readOne), { is: away });
  const fault = new TypeError('Ours');
  await t.throwsAsync(readOneByOne(['a', 'b'], failing(fault, 'b').readOne), { is: fault });
});

test('a post at which a server fails does not prevent the reading of others, at any position', async (t) => {
  const ids = ['a', 'b', 'c', 'd'];
  for (const [at, kinds] of [
    [['a'], '- read read read'],
    [['b'], 'read - read read'],
    [['a', 'c'], '- read - read'],
    [['b', 'c', 'd'], 'read - - -'],
  ] as const) {
    const { readOne } = failing(broken, ...at);
    t.is(kindsOf(ids, await readOneByOne(ids, readOne)), kinds);
  }
});

test('after three failures in a row, the server gets no more requests', async (t) => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = failing(broken, ...ids);
  await t.throwsAsync(readOneByOne(ids, all.readOne), { is: broken });
  t.deepEqual(all.asked, ['a', 'b', 'c']);
  const most = failing(broken, ...ids.slice(1));
  t.is(kindsOf(ids, await readOneByOne(ids, most.readOne)), 'read - - - unasked unasked');
});

test('a server with a Retry-After gets no more requests at once', async (t) => {
  const busy = new NetworkError('network_unavailable', 'HTTP 503.', {
    accepted: 'no',
    server: 'answered',
    retryAtMs: Date.now() + 60_000,
  });
  const { asked, readOne } = failing(busy, 'a');
  await t.throwsAsync(readOneByOne(['a', 'b'], readOne), { is: busy });
  t.deepEqual(asked, ['a']);
});
