import test from 'ava';
import { heldBackRows } from '../../worker/held-back.ts';

/** Adds a row that was refused again and again. @returns how long it was left alone each time, in seconds. */
function waitsOf(why: 'refused' | 'away', times: number): number[] {
  const clock = { ms: 0 };
  const rows = heldBackRows(() => clock.ms);
  return Array.from({ length: times }, () => {
    rows.add('a', why);
    const from = clock.ms;
    while (rows.ids().length > 0) {
      clock.ms += 500;
    }

    return (clock.ms - from) / 1000;
  });
}

test('a row that Temporal refuses is tried less and less often, and once a minute for ever', (t) => {
  t.deepEqual(waitsOf('refused', 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('a row is tried a second later, however often Temporal was away', (t) => {
  t.deepEqual(waitsOf('away', 5), [1, 1, 1, 1, 1]);
});

test('a row that Temporal took at last begins anew', (t) => {
  const rows = heldBackRows(() => 0);
  rows.add('a', 'refused');
  rows.add('b', 'refused');
  rows.release('a');
  t.deepEqual(rows.ids(), ['b']);
});

test('of more than ten thousand refused rows those that waited longest are tried first', (t) => {
  const rows = heldBackRows(() => 0);
  for (let n = 0; n < 10_005; n += 1) {
    rows.add(String(n), 'refused');
  }

  const ids = rows.ids();
  t.is(ids.length, 10_000);
  t.is(ids[0], '5');
});
