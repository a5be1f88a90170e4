import test from 'ava';
import { errorOfStatus } from '../../domain/delivery-error.ts';
import { deliveryWaitMs, placeWaitMs, retryAfterMs } from '../../domain/delivery-waits.ts';

const minute = 60_000;
const hour = 60 * minute;
const steps = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour];
const almostOne = 1 - Number.EPSILON;

test('a delivery has 6 attempts in all', (t) => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((made) =>
    deliveryWaitMs(made, { askedMs: null, random: 0 }),
  );
  t.deepEqual(waits, [...steps, null, null]);
});

test('a wait is never shorter than its step, and at most a tenth longer by chance', (t) => {
  for (const [index, step] of steps.entries()) {
    for (const random of [0, 0.001, 0.5, 0.999, almostOne]) {
      const wait = deliveryWaitMs(index + 1, { askedMs: null, random }) ?? 0;
      t.true(wait >= step && wait * 10 <= step * 11, `${wait} for a step of ${step}`);
    }
  }

  const [low, high] = [0.1, 0.9].map((random) => deliveryWaitMs(1, { askedMs: null, random }));
  t.not(low, high); // What failed together does not come back together.
});

test('a receiver that asks for more time gets it, up to twice the step, and can never hurry', (t) => {
  const asked = (askedMs: number) => deliveryWaitMs(2, { askedMs, random: 0 });
  t.is(asked(0), 5 * minute);
  t.is(asked(4 * minute), 5 * minute);
  t.is(asked(7 * minute), 7 * minute);
  t.is(asked(10 * minute), 10 * minute);
  t.is(asked(1e12), 10 * minute);
  t.is(deliveryWaitMs(6, { askedMs: minute, random: 0 }), null); // No attempt is added.
});

test('a Retry-After is read as seconds or as an HTTP date, and anything else is as good as none', (t) => {
  const now = Date.parse('2027-03-01T09:00:00Z');
  t.is(retryAfterMs('120', now), 120_000);
  t.is(retryAfterMs(' 0 ', now), 0);
  t.is(retryAfterMs('Mon, 01 Mar 2027 09:02:00 GMT', now), 120_000);
  for (const text of [
    undefined,
    '',
    '-5',
    '1.5',
    '1e9',
    '0x10',
    '٣',
    'soon',
    '2027-03-01T09:02:00Z',
    'Mon, 01 Mar 2027 09:00:00 GMT',
    'Sun, 28 Feb 2027 09:00:00 GMT',
    'Mon, 99 Foo 2027 09:02:00 GMT',
    '9'.repeat(400),
    '120, 240',
  ]) {
    t.is(retryAfterMs(text, now), null, text);
  }
});

test('who finds no free place of an endpoint looks again within the time in which all who wait get theirs; of very many ten look in a second', (t) => {
  const waits = (waiting: number, heldMs: number) =>
    [0, almostOne].map((random) => placeWaitMs({ waiting, heldMs }, random));
  t.deepEqual(waits(100, 0), [100, 300]); // Taken just now: nobody knows whether it hangs.
  t.deepEqual(waits(5, 20), [100, 300]);
  t.deepEqual(waits(100, 200), [100, 5100]); // 4 at a time, 0.2 s each.
  t.deepEqual(waits(4, 9000), [100, 9100]);
  t.deepEqual(waits(200, 9000), [100, 60_100]);
  t.deepEqual(waits(5000, 9000), [100, 1_000_100]); // Half of 1,000 s on average: 10 a second.
  t.deepEqual(waits(5000, 20), [100, 25_100]); // It is well again.
});

test('only 2xx is a delivery, and a redirect is told apart', (t) => {
  for (const status of [200, 201, 202, 204, 206, 299]) {
    t.is(errorOfStatus(status), null, String(status));
  }

  for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
    t.is(errorOfStatus(status), 'redirect', String(status));
  }

  for (const status of [100, 199, 400, 404, 410, 429, 500, 503, 599]) {
    t.is(errorOfStatus(status), 'http_error', String(status));
  }
});
