import test from 'ava';
import { readingOf, type PostReading } from '../../networks/metrics.ts';
import { NetworkError } from '../../networks/network.ts';
import { readOneByOne } from '../../networks/read-one-by-one.ts';

const reading = readingOf({ likes: 1 });
const away = new NetworkError('network_unavailable', 'Away.', { taken: 'no' });

const broken = new NetworkError('network_unavailable', 'HTTP 500.', {
  taken: 'no',
  server: 'answered',
});

/** Of each post, in order: `read`, `unasked`, or `-` where the network told nothing. */
const kindsOf = (ids: readonly string[], readings: ReadonlyMap<string, PostReading>): string =>
  ids.map((id) => readings.get(id)?.kind ?? '-').join(' ');

/** Fails for these posts, and tells nothing of one that is named `silent`. */
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

test('what a slow server told in time is kept, and the others are left for the next read', async (t) => {
  const { asked, readOne } = failing(away);
  const ids = ['a', 'b', 'c'];
  t.is(kindsOf(ids, await readOneByOne(ids, readOne, 0)), 'read unasked unasked');
  t.deepEqual(asked, ['a'], 'one is read however slow it is, so that reading goes on');
  t.is(kindsOf(ids, await readOneByOne(ids, readOne)), 'read read read');
});

test('a server that is away ends reading: it is told when nothing was read, and a fault of our own always', async (t) => {
  const ids = ['a', 'b', 'c'];
  const { asked, readOne } = failing(away, 'b');
  t.is(kindsOf(ids, await readOneByOne(ids, readOne)), 'read unasked unasked');
  t.deepEqual(asked, ['a', 'b']);
  await t.throwsAsync(readOneByOne(['silent', 'b'], readOne), { is: away });
  const fault = new TypeError('Ours');
  await t.throwsAsync(readOneByOne(['a', 'b'], failing(fault, 'b').readOne), { is: fault });
});

test('a post that a server fails at keeps no others from being read, wherever it stands', async (t) => {
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

test('a server that fails three times in a row is left alone', async (t) => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = failing(broken, ...ids);
  await t.throwsAsync(readOneByOne(ids, all.readOne), { is: broken });
  t.deepEqual(all.asked, ['a', 'b', 'c']);
  const most = failing(broken, ...ids.slice(1));
  t.is(kindsOf(ids, await readOneByOne(ids, most.readOne)), 'read - - - unasked unasked');
});

test('a server that says when to come back is left alone at once', async (t) => {
  const busy = new NetworkError('network_unavailable', 'HTTP 503.', {
    taken: 'no',
    server: 'answered',
    retryAtMs: Date.now() + 60_000,
  });
  const { asked, readOne } = failing(busy, 'a');
  await t.throwsAsync(readOneByOne(['a', 'b'], readOne), { is: busy });
  t.deepEqual(asked, ['a']);
});
