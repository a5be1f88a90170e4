import test from 'ava';
import { lateSpacingMs, mostCounted, waitForTurnMs } from '../../domain/late-posts.ts';

test('the first late post of a channel goes at once, and each after it when those before it have gone', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: null }), 0);
  t.is(waitForTurnMs({ ahead: 1, sinceLastMs: null }), lateSpacingMs);
  t.is(waitForTurnMs({ ahead: 5, sinceLastMs: 60_000 }), 5 * lateSpacingMs);
});

test('a late post keeps its distance to the one before it', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: 0 }), lateSpacingMs);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: lateSpacingMs - 1 }), 1);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: lateSpacingMs }), 0);
  t.is(waitForTurnMs({ ahead: 2, sinceLastMs: 500 }), 3 * lateSpacingMs - 500);
});

test('a late post that is far behind looks again halfway, and at least each ten minutes: those before it may be cancelled', (t) => {
  const minute = 60_000;
  t.is(waitForTurnMs({ ahead: 60, sinceLastMs: null }), 2 * minute);
  t.is(waitForTurnMs({ ahead: 90, sinceLastMs: null }), 2 * minute);
  t.is(waitForTurnMs({ ahead: 300, sinceLastMs: null }), 5 * minute);
  t.is(waitForTurnMs({ ahead: mostCounted, sinceLastMs: null }), 10 * minute);
  t.is(waitForTurnMs({ ahead: 10 * mostCounted, sinceLastMs: 0 }), 10 * minute);
});

test('a clock that was put back does not stop the late posts', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: -3_600_000 }), 0);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: -0.5 }), lateSpacingMs - 0.5); // Rounded up to a millisecond.
});
