import test from 'ava';
import { quote, retryAtMs } from '../../networks/answer.ts';
import { readingOf, readOneByOne } from '../../networks/metrics.ts';
import { NetworkError, type PostReading } from '../../networks/network.ts';
import { processorSeconds } from '../support/processor-seconds.ts';

const reading = readingOf({ likes: 1 }, { likes: 'likes' });
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

test("a server's message is quoted on one line, without secrets and control characters", (t) => {
  t.is(quote('Bad\n\ttoken: s3cret, s3cret\u0000!', ['s3cret', '']), '"Bad token: …, … !"');
  t.is(quote('👩‍👩‍👧‍👦', []), '"👩‍👩‍👧‍👦"');
  t.is(quote('\u202eno\u2066', []), '"no"', 'no character reverses the line');
  const token = 'a+b/c "d"';
  for (const repeated of [
    `refresh_token=${new URLSearchParams([['', token]]).toString().slice(1)}`,
    `refresh_token=${encodeURIComponent(token)}`,
    JSON.stringify({ refresh_token: token }),
  ]) {
    t.notRegex(quote(repeated, [token]), /a.*b.*c.*d/v);
  }
});

test('an empty message gives no quotation', (t) => {
  for (const words of [undefined, null, 5, '', ' \n']) {
    t.is(quote(words, []), '');
  }
});

test('a long message is cut to a text that the database accepts', (t) => {
  const short = quote(`x${'👋'.repeat(1000)}`, []);
  t.true(short.length < 310 && short.endsWith('…"'));
  t.true(short.isWellFormed());
  t.is(quote('x'.repeat(5000), []), `"${'x'.repeat(300)}…"`);
});

// No two pieces of it are equal.
const secret = Array.from({ length: 1500 }, (_, index) => `${index}`.padStart(4, '-')).join('');

/** Whether at least 12 characters of a secret in a row are shown. */
const shows = (quoted: string, hidden: string): boolean =>
  Array.from({ length: quoted.length }, (_, at) => quoted.slice(at, at + 12)).some(
    (piece) => piece.length === 12 && hidden.includes(piece),
  );

test('a secret is not shown at any position, with any length, and after any cut', (t) => {
  for (const length of [12, 30, 64, 65, 300, 1000, 2047, 2048, 2049, 4096, 6000]) {
    const hidden = secret.slice(0, length);
    for (const before of [
      0, 1, 150, 280, 299, 300, 1000, 1900, 2040, 2047, 2048, 4000, 4070, 4090,
    ]) {
      // A run of white space becomes one character, which brings later text into the quotation.
      for (const filler of ['x', ' ', '\n']) {
        const words = `${filler.repeat(before)}${hidden} and ${hidden}`;
        t.false(shows(quote(words, [hidden]), hidden), `${length} after ${before} of ${filler}`);
        t.false(shows(quote(words, ['Bearer', hidden, hidden]), hidden));
      }
    }
  }
});

test('a secret is removed each time, also in other encodings', (t) => {
  t.is(quote('no s3cret and s3cret!', ['s3cret', 's3cret+']), '"no … and …!"');
  const clientSecret = 'WPL_AP1.1234567890abcdef==';
  t.is(quote(`secret=${clientSecret.slice(0, -2)}%3d%3d.`, [clientSecret]), '"secret=…."');
  t.is(quote(String.raw`token a\/b+c`, ['a/b+c']), '"token …"');
});

test('messages and secrets that were made to be slow are quoted in time', (t) => {
  const xs = 'x'.repeat(5000);
  for (const slow of [`b${xs}`, `${xs}b${xs}`, `${xs}b`, xs, '%'.repeat(5000), '"'.repeat(5000)]) {
    for (const words of ['x', `b${xs}`, `${xs}b`, ' x', '%25', '\\"']) {
      const quoted = words.repeat(2_000_000 / words.length);
      const seconds = processorSeconds(() => quote(quoted, [slow, slow]));
      t.true(seconds < 3, `${slow.slice(0, 2)} in ${words.slice(0, 2)}: ${seconds} s`);
    }
  }
});

// When a server accepts requests again.

const nowMs = Date.UTC(2026, 10, 20, 12);
const dayMs = 24 * 60 * 60 * 1000;

const toldBy = (headers: Record<string, string>) =>
  retryAtMs({ status: 429, headers, body: Buffer.alloc(0), truncated: false }, nowMs);

test('each form of a retry time is read', (t) => {
  const inAMinute = nowMs + 60_000;
  t.is(toldBy({ 'retry-after': '60' }), inAMinute);
  t.is(toldBy({ 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' }), inAMinute);
  t.is(toldBy({ 'x-ratelimit-reset': '2026-11-20T12:01:00.000Z' }), inAMinute);
  t.is(toldBy({ 'x-ratelimit-reset': String(inAMinute / 1000) }), inAMinute);
  t.is(toldBy({ 'ratelimit-reset': String(inAMinute / 1000) }), inAMinute);
  t.is(toldBy({ 'ratelimit-reset': '60' }), inAMinute);
});

test('an answer without a valid retry time has none', (t) => {
  for (const value of ['', 'soon', '-5', 'NaN']) {
    t.is(toldBy({ 'retry-after': value }), undefined);
  }
  t.is(toldBy({}), undefined);
});

test('a retry time in the past is ignored, and the next header counts; a distant one becomes a day', (t) => {
  t.is(toldBy({ 'x-ratelimit-reset': '2020-01-01T00:00:00Z' }), undefined);
  t.is(toldBy({ 'retry-after': '0' }), undefined);
  t.is(toldBy({ 'retry-after': 'Fri, 20 Nov 2026 11:59:59 GMT' }), undefined);
  t.is(toldBy({ 'retry-after': '0', 'ratelimit-reset': '60' }), nowMs + 60_000);
  t.is(toldBy({ 'retry-after': '99999999' }), nowMs + dayMs);
});
