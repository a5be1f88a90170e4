import test from 'ava';
import { parseWhen } from '../../cli/client/posts/when.ts';

/** A Monday; it is 10:00 in Berlin, and the clocks there go forward on the 28th. */
const now = new Date('2027-03-22T09:00:30Z');
const zone = { timezone: 'Europe/Berlin' };
const after = (minutes: number) => ({ schedule_in_minutes: minutes, ...zone });
const berlin = (local: string) => ({ scheduled_at: local, ...zone });

const cases: readonly (readonly [given: string, time: object])[] = [
  ['now', after(0)],
  ['in 2 hours', after(120)],
  ['in 90 minutes', after(90)],
  ['in 1 day', after(1440)],
  ['in 2w', after(20_160)],
  ['11:00', berlin('2027-03-22T11:00')],
  ['10:00', berlin('2027-03-23T10:00')],
  ['today 9:00', berlin('2027-03-22T09:00')],
  ['Tomorrow 9:00', berlin('2027-03-23T09:00')],
  ['tomorrow at 5:30pm', berlin('2027-03-23T17:30')],
  ['tomorrow 12am', berlin('2027-03-23T00:00')],
  ['monday 9:00', berlin('2027-03-29T09:00')],
  ['monday 10:01', berlin('2027-03-22T10:01')],
  ['sun 2:30', berlin('2027-03-28T02:30')],
  ['2027-04-01T09:00', berlin('2027-04-01T09:00')],
  ['2027-04-01 9:00', berlin('2027-04-01T09:00')],
  ['2027-04-01T09:00:30', berlin('2027-04-01T09:00:30')],
  ['2027-04-01T09:00Z', berlin('2027-04-01T09:00Z')],
  ['2027-04-01T09:00+02:00', berlin('2027-04-01T09:00+02:00')],
];

test('a time of a post is read in the named time zone', (t) => {
  for (const [given, time] of cases) {
    t.deepEqual(parseWhen(given, 'Europe/Berlin', now) as object, time, given);
  }

  const noZone = parseWhen('2027-04-01T09:00Z', undefined, now);
  t.deepEqual(noZone, { scheduled_at: '2027-04-01T09:00Z' });
});

test('what is not a time is refused', (t) => {
  const wrong = ['', '9', 'soon', 'in hours', 'in 2 years', '25:00', '13pm', 'day 9:00', 'monday'];
  for (const given of [...wrong, '2027-04-01', '9:00 tomorrow', 'tomorrow 9:0']) {
    t.throws(() => parseWhen(given, 'Europe/Berlin', now), { name: 'UsageError' }, given);
  }
});
