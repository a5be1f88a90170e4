import test from 'ava';
import { dueTime, type DueTimeRequest } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';

const now = new Date('2026-05-01T10:00:00.500Z');
const minuteMs = 60_000;
const after = (ms: number): string => new Date(now.getTime() + ms).toISOString();
const twoYearsMs = 2 * 366 * 24 * 60 * minuteMs;

const refusal = (request: DueTimeRequest): AppError | undefined => {
  try {
    dueTime(request, now);
    return undefined;
  } catch (error) {
    return error instanceof AppError ? error : undefined;
  }
};

test('no time, or null, is a draft', (t) => {
  t.is(dueTime({}, now), null);
  t.is(dueTime({ scheduled_at: null }, now), null);
  t.is(dueTime({ scheduled_at: undefined, schedule_in_minutes: undefined }, now), null);
});

test('a time ahead is that time, and one up to 5 minutes ago is now', (t) => {
  const times: [string, string][] = [
    [after(1), after(1)],
    [after(0), after(0)],
    [after(-1), after(0)],
    [after(-5 * minuteMs), after(0)],
    [after(twoYearsMs), after(twoYearsMs)],
    ['2026-05-01T14:00:00+02:00', '2026-05-01T12:00:00.000Z'],
  ];
  for (const [at, due] of times) {
    t.is(dueTime({ scheduled_at: at }, now)?.toISOString(), due, at);
  }
});

test('a time longer past, too far ahead or none at all is refused, and the reason says which', (t) => {
  const refused: [string, RegExp][] = [
    [after(-5 * minuteMs - 1), /past.*2026-05-01T10:00:00\.500Z/v],
    ['1970-01-01T00:00:00Z', /past/v],
    [after(twoYearsMs + 1), /two years/v],
    ['9999-12-31T23:59:59Z', /two years/v],
    ['2026-05-32T10:00:00Z', /existing time/v],
    ['2026-05-01T10:00:00', /existing time/v],
    ['', /existing time/v],
  ];
  for (const [at, reason] of refused) {
    const error = refusal({ scheduled_at: at });
    t.is(error?.code, 'invalid_scheduled_at', at);
    t.regex(error?.message ?? '', reason, at);
    t.is(error?.details?.[0]?.path, '/scheduled_at');
  }
});

test('minutes count from now, with fractions, up to two years', (t) => {
  const minutes: [number, number][] = [
    [0, 0],
    [-0, 0],
    [1, minuteMs],
    [0.5, 30_000],
    [1 / 60_000, 1],
    [twoYearsMs / minuteMs, twoYearsMs],
  ];
  for (const [given, ms] of minutes) {
    t.is(dueTime({ schedule_in_minutes: given }, now)?.toISOString(), after(ms), String(given));
  }
});

test('minutes that are negative, endless or over two years are refused', (t) => {
  const endless = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const minutes of [-1, -Number.MIN_VALUE, twoYearsMs / minuteMs + 1, 1e308, ...endless]) {
    const error = refusal({ schedule_in_minutes: minutes });
    t.is(error?.code, 'invalid_scheduled_at', String(minutes));
    t.is(error?.details?.[0]?.path, '/schedule_in_minutes');
  }
});

test('minutes win over a time, be it good, null or none', (t) => {
  for (const at of [after(minuteMs), null, 'nonsense', '1970-01-01T00:00:00Z']) {
    t.is(
      dueTime({ scheduled_at: at, schedule_in_minutes: 2 }, now)?.toISOString(),
      after(2 * minuteMs),
    );
  }

  t.truthy(refusal({ scheduled_at: after(minuteMs), schedule_in_minutes: -1 }));
});
