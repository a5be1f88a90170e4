import { spawnSync } from 'node:child_process';
import test from 'ava';
import { dueTime, timeWarning } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { dayIn, resolveLocal } from '../../domain/time-zone.ts';

/** Resolves local times with JavaScript's Temporal, which Node 24 has behind a flag. */
function resolvedByTemporal(cases: readonly { zone: string; wallMs: number }[]): unknown {
  const script = `
    const cases = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
    const resolved = cases.map(({ zone, wallMs }) =>
      Temporal.PlainDateTime.from(new Date(wallMs).toISOString().slice(0, -1))
        .toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds);
    process.stdout.write(JSON.stringify(resolved));`;
  const flags = 'Temporal' in globalThis ? [] : ['--harmony-temporal'];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', script], {
    input: JSON.stringify(cases),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return stdout ? JSON.parse(stdout) : stderr;
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** The local times of the days on which the clocks of a zone change in 2027. */
function changes(zone: string): number[] {
  const offsetAt = (at: number) => resolveLocal(at, zone).ms;
  const days = Array.from({ length: 365 }, (_, index) => Date.UTC(2027, 0, 1) + index * day);
  return days
    .filter((at) => offsetAt(at + day) - offsetAt(at) !== day)
    .flatMap((at) => Array.from({ length: 48 }, (_, half) => at + half * 30 * minute));
}

test('a local time resolves as in Temporal, in many time zones and where clocks change', (t) => {
  // V8's Temporal takes milliseconds for each.
  const zones = Intl.supportedValuesOf('timeZone').filter((_, index) => index % 7 === 0);
  const everywhere = zones.map((zone, index) => ({
    zone,
    wallMs: Date.UTC(2005 + (index % 30), index % 12, 1 + (index % 28), index % 24, 37),
  }));
  const changing = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Santiago'].flatMap((zone) =>
    changes(zone).map((wallMs) => ({ zone, wallMs })),
  );
  t.is(changing.length, 3 * 2 * 48);
  const cases = [
    ...everywhere,
    ...changing,
    { zone: 'Pacific/Apia', wallMs: Date.UTC(2011, 11, 30, 9) }, // A skipped day.
  ];
  t.deepEqual(
    cases.map(({ zone, wallMs }) => resolveLocal(wallMs, zone).ms),
    resolvedByTemporal(cases),
  );
});

const now = new Date('2027-03-01T00:00:00Z');
const due = (at: string, timezone: string) =>
  dueTime({ scheduled_at: at, timezone }, now)?.toISOString();

test('a time with an offset ignores the time zone, and one without uses it', (t) => {
  t.is(due('2027-06-01T09:00:00', 'Europe/Berlin'), '2027-06-01T07:00:00.000Z');
  t.is(due('2027-06-01T09:00', 'America/New_York'), '2027-06-01T13:00:00.000Z');
  t.is(due('2027-06-01T09:00:00.5', 'Asia/Kolkata'), '2027-06-01T03:30:00.500Z');
  t.is(due('2027-06-01T09:00:00Z', 'Europe/Berlin'), '2027-06-01T09:00:00.000Z');
  t.is(due('2027-06-01T09:00:00+05:00', 'Europe/Berlin'), '2027-06-01T04:00:00.000Z');
});

test('a repeated hour is the first one, and a skipped hour has a warning with the resulting time', (t) => {
  const repeated = { scheduled_at: '2027-10-31T02:30:00', timezone: 'Europe/Berlin' };
  t.is(dueTime(repeated, now)?.toISOString(), '2027-10-31T00:30:00.000Z');
  t.regex(timeWarning(repeated) ?? '', /twice: the post is due at the first time/v);
  const skipped = { scheduled_at: '2027-03-28T02:30', timezone: 'Europe/Berlin' };
  t.is(dueTime(skipped, now)?.toISOString(), '2027-03-28T01:30:00.000Z');
  t.is(
    timeWarning(skipped),
    'Clocks in Europe/Berlin skip 2027-03-28T02:30:00: the post is due when they show 2027-03-28T03:30:00, at 2027-03-28T01:30:00.000Z.',
  );
});

test('a local time without a time zone, and an unknown zone, are refused with the way out', (t) => {
  const refusal = (request: Parameters<typeof dueTime>[0]) =>
    t.throws(() => dueTime(request, now), { instanceOf: AppError });
  const local = refusal({ scheduled_at: '2027-06-01T09:00' });
  t.is(local?.code, 'invalid_scheduled_at');
  t.regex(
    local?.message ?? '',
    /Z or an offset, such as 2027-06-01T09:00:00Z .*the field timezone/v,
  );
  const unknown: [zone: string, nearest: string][] = [
    ['berlin', 'Europe/Berlin'],
    ['New York', 'America/New_York'],
    ['Mars/Olympus', 'Europe/Berlin'],
    ['PST', 'Europe/Berlin'],
    ['+02:00', 'Europe/Berlin'],
    ['', 'Europe/Berlin'],
  ];
  for (const [timezone, nearest] of unknown) {
    const error = refusal({ timezone });
    t.is(error?.code, 'invalid_request', timezone);
    t.is(error?.details?.[0]?.path, '/timezone', timezone);
    t.true(error?.message.endsWith(`such as ${nearest}.`), error?.message);
  }
});

test('the day of a moment is that of the time zone', (t) => {
  const at = new Date('2027-06-01T22:30:00Z');
  t.is(dayIn(at, 'Europe/Berlin'), '2027-06-02');
  t.is(dayIn(at, 'America/New_York'), '2027-06-01');
});
