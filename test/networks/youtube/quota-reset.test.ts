import test from 'ava';
import { nextPacificMidnight } from '../../../networks/youtube/refusal.ts';

const midnights: readonly [now: string, midnight: string][] = [
  ['2026-07-01T12:00:00Z', '2026-07-02T07:00:00Z'],
  ['2026-07-01T06:59:59Z', '2026-07-01T07:00:00Z'],
  ['2026-07-01T07:00:00Z', '2026-07-02T07:00:00Z'],
  ['2026-12-31T12:00:00Z', '2027-01-01T08:00:00Z'],
  // Clocks go forward on 8 March 2026 and back on 1 November: the days have 23 and 25 hours.
  ['2026-03-08T08:00:00Z', '2026-03-09T07:00:00Z'],
  ['2026-03-08T07:59:59Z', '2026-03-08T08:00:00Z'],
  ['2026-11-01T07:00:00Z', '2026-11-02T08:00:00Z'],
  ['2026-10-31T12:00:00Z', '2026-11-01T07:00:00Z'],
];
for (const [now, midnight] of midnights) {
  test(`quotas that are used up at ${now} reset at ${midnight}`, (t) => {
    t.is(
      new Date(nextPacificMidnight(Date.parse(now))).toISOString(),
      midnight.replace('Z', '.000Z'),
    );
  });
}
