import test from 'ava';
import {
  deliveryWaitMs,
  errorOfStatus,
  slotWaitMs,
  retryAfterMs,
} from '../../domain/webhook-deliveries.ts';
import { dueTime, type DueTimeRequest, parseInstant } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { lateSpacingMs, mostCounted, waitForTurnMs } from '../../domain/pacing.ts';

test('an RFC 3339 time with Z or an offset is read as its instant', (t) => {
  const times: [string, string][] = [
    ['2026-05-01T09:30:00Z', '2026-05-01T09:30:00.000Z'],
    ['2026-05-01t09:30:00z', '2026-05-01T09:30:00.000Z'],
    ['2026-05-01T09:30Z', '2026-05-01T09:30:00.000Z'],
    ['2026-05-01T09:30:00.1Z', '2026-05-01T09:30:00.100Z'],
    ['2026-05-01T09:30:00.123456789Z', '2026-05-01T09:30:00.123Z'],
    ['2026-05-01T09:30:00+00:00', '2026-05-01T09:30:00.000Z'],
    ['2026-05-01T09:30:00+02:00', '2026-05-01T07:30:00.000Z'],
    ['2026-05-01T09:30:00-09:30', '2026-05-01T19:00:00.000Z'],
    ['2026-05-01T00:15:00+14:00', '2026-04-30T10:15:00.000Z'],
    ['2026-12-31T23:59:59.999-23:59', '2027-01-01T23:58:59.999Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ];
  for (const [text, instant] of times) {
    t.is(parseInstant(text)?.toISOString(), instant, text);
  }
});

test('a day or an hour that does not exist is rejected', (t) => {
  const days = '02-30 02-29 04-31 06-31 09-31 11-31 01-32 13-01 00-01 01-00'.split(' ');
  const hours = ['24:00:00', '25:00:00', '10:60:00', '10:00:60', '23:59:60', '99:99:99'];
  const offsets = ['+24:00', '-24:00', '+10:60', '+99:99'];
  const none = [
    ...days.map((day) => `2026-${day}T10:00:00Z`),
    ...hours.map((hour) => `2026-05-01T${hour}Z`),
    ...offsets.map((offset) => `2026-05-01T10:00:00${offset}`),
    '1900-02-29T10:00:00Z',
    '2100-02-29T10:00:00Z',
  ];
  for (const text of none) {
    t.is(parseInstant(text), null, text);
  }
});

test('a time without an offset, or in another format, is rejected', (t) => {
  const none = [
    '',
    'now',
    '2026-05-01',
    '2026-05-01T09:30:00',
    '2026-05-01 09:30:00Z',
    '2026-05-01T09:30:00 Z',
    '2026-05-01T09:30:00+0200',
    '2026-05-01T09:30:00GMT',
    '2026-05-01T09:30:00.Z',
    '2026-05-01T09:30:00,5Z',
    '2026-5-1T9:30:00Z',
    '+002026-05-01T09:30:00Z',
    ' 2026-05-01T09:30:00Z',
    '2026-05-01T09:30:00Z\n',
    '٢٠٢٦-05-01T09:30:00Z',
    '1777627800',
    'Fri, 01 May 2026 09:30:00 GMT',
    '2026-05-01T09:30:00−02:00',
  ];
  for (const text of none) {
    t.is(parseInstant(text), null, text);
  }
});

const now = new Date('2026-05-01T10:00:00.500Z');
const minute = 60_000;
const after = (ms: number): string => new Date(now.getTime() + ms).toISOString();
const twoYearsMs = 2 * 366 * 24 * 60 * minute;

const refusal = (request: DueTimeRequest): AppError | undefined => {
  try {
    dueTime(request, now);
    return undefined;
  } catch (error) {
    return error instanceof AppError ? error : undefined;
  }
};

test('without a time, or with null, a post is a draft', (t) => {
  t.is(dueTime({}, now), null);
  t.is(dueTime({ scheduled_at: null }, now), null);
  t.is(dueTime({ scheduled_at: undefined, schedule_in_minutes: undefined }, now), null);
});

test('a future time is kept, and one up to 5 minutes ago becomes now', (t) => {
  const times: [string, string][] = [
    [after(1), after(1)],
    [after(0), after(0)],
    [after(-1), after(0)],
    [after(-5 * minute), after(0)],
    [after(twoYearsMs), after(twoYearsMs)],
    ['2026-05-01T14:00:00+02:00', '2026-05-01T12:00:00.000Z'],
  ];
  for (const [at, due] of times) {
    t.is(dueTime({ scheduled_at: at }, now)?.toISOString(), due, at);
  }
});

test('a time that is too old, too far ahead or invalid is refused with that reason', (t) => {
  const refused: [string, RegExp, string?][] = [
    [after(-5 * minute - 1), /past.*2026-05-01T10:00:00\.500Z/v],
    ['1970-01-01T00:00:00Z', /past/v],
    [after(twoYearsMs + 1), /two years ahead\. Send one up to 2028-05-02T10:00:00\.500Z\.$/v],
    ['9999-12-31T23:59:59Z', /two years/v],
    ['2026-05-32T10:00:00Z', /(?:date and time|does not exist)/v],
    ['2026-05-01T10:00:00', /needs Z or an offset, such as 2026-05-01T10:00:00Z or/v],
    ['2026-05-01T10:00:00.25', /needs Z or an offset/v],
    ['2026-02-30T10:00:00', /(?:date and time|does not exist)/v],
    ['2026-05-01 10:00', /needs Z or an offset, such as 2026-05-01T10:00:00Z or/v],
    ['2026-05-01 10:00:00+02:00', /needs a T between date and time/v],
    ['2026-06-01T9:00Z', /needs an hour of two digits/v],
    [
      '',
      /is not a time: schedule_in_minutes: 0 publishes now, and scheduled_at: null makes a draft/v,
    ],
    ['now', /schedule_in_minutes: 0 publishes now/v],
    ['tomorrow', /is not .*: "tomorrow"\. Send one such as 2026-05-02T09:30:00Z\.$/v],
    ['tomorrow', /Send one such as 2026-05-02T09:30:00\.$/v, 'Europe/Berlin'],
    ['20.03.2027T10:00', /is not .*: "20\.03\.2027T10:00"/v],
    ['2026-06-01', /is a day without a time\. Send one such as 2026-05-02T09:30:00Z\.$/v],
    ['2026-06-01T25:00Z', /does not exist/v],
    ['x'.repeat(1e6), /is not .*: "x{39}…"/v],
  ];
  for (const [at, reason, timezone] of refused) {
    const error = refusal({ scheduled_at: at, timezone });
    t.is(error?.code, 'invalid_scheduled_at', at);
    t.regex(error?.message ?? '', reason, at);
    t.is(error?.details?.[0]?.path, '/scheduled_at');
  }
});

test('minutes count from now, with fractions, up to two years', (t) => {
  const minutes: [number, number][] = [
    [0, 0],
    [-0, 0],
    [1, minute],
    [0.5, 30_000],
    [1 / 60_000, 1],
    [twoYearsMs / minute, twoYearsMs],
  ];
  for (const [given, ms] of minutes) {
    t.is(dueTime({ schedule_in_minutes: given }, now)?.toISOString(), after(ms), String(given));
  }
});

test('minutes that are negative, infinite or over two years are refused', (t) => {
  const endless = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const minutes of [-1, -Number.MIN_VALUE, twoYearsMs / minute + 1, 1e308, ...endless]) {
    const error = refusal({ schedule_in_minutes: minutes });
    t.is(error?.code, 'invalid_scheduled_at', String(minutes));
    t.is(error?.details?.[0]?.path, '/schedule_in_minutes');
  }
});

test('minutes take precedence over a time, even an invalid one', (t) => {
  for (const at of [after(minute), null, 'nonsense', '1970-01-01T00:00:00Z']) {
    t.is(
      dueTime({ scheduled_at: at, schedule_in_minutes: 2 }, now)?.toISOString(),
      after(2 * minute),
    );
  }

  t.truthy(refusal({ scheduled_at: after(minute), schedule_in_minutes: -1 }));
});

const hour = 60 * minute;
const steps = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour];
const almostOne = 1 - Number.EPSILON;

test('a delivery has 6 attempts in all', (t) => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((made) =>
    deliveryWaitMs(made, { askedMs: null, random: 0 }),
  );
  t.deepEqual(waits, [...steps, null, null]);
});

test('a wait is never shorter than its step, and at most a tenth longer at random', (t) => {
  for (const [index, step] of steps.entries()) {
    for (const random of [0, 0.001, 0.5, 0.999, almostOne]) {
      const wait = deliveryWaitMs(index + 1, { askedMs: null, random }) ?? 0;
      t.true(wait >= step && wait * 10 <= step * 11, `${wait} for a step of ${step}`);
    }
  }

  const [low, high] = [0.1, 0.9].map((random) => deliveryWaitMs(1, { askedMs: null, random }));
  t.not(low, high); // Deliveries that failed together do not return together.
});

test('a receiver may double a wait, but not shorten it', (t) => {
  const asked = (askedMs: number) => deliveryWaitMs(2, { askedMs, random: 0 });
  t.is(asked(0), 5 * minute);
  t.is(asked(4 * minute), 5 * minute);
  t.is(asked(7 * minute), 7 * minute);
  t.is(asked(10 * minute), 10 * minute);
  t.is(asked(1e12), 10 * minute);
  t.is(deliveryWaitMs(6, { askedMs: minute, random: 0 }), null); // No attempt is added.
});

test('a Retry-After is read as seconds or as an HTTP date, and any other value is ignored', (t) => {
  const nowMs = Date.parse('2027-03-01T09:00:00Z');
  t.is(retryAfterMs('120', nowMs), 120_000);
  t.is(retryAfterMs(' 0 ', nowMs), 0);
  t.is(retryAfterMs('Mon, 01 Mar 2027 09:02:00 GMT', nowMs), 120_000);
  for (const text of [
    undefined,
    '',
    '-5',
    '1.5',
    '1e9',
    'soon',
    '2027-03-01T09:02:00Z',
    'Mon, 01 Mar 2027 09:00:00 GMT',
    'Sun, 28 Feb 2027 09:00:00 GMT',
    '9'.repeat(400),
  ]) {
    t.is(retryAfterMs(text, nowMs), null, text);
  }
});

test('attempts without a slot return within the time for all waiting deliveries, and at most ten per second', (t) => {
  const waits = (waiting: number, heldMs: number, hung = 1) =>
    [0, almostOne].map((random) => slotWaitMs({ waiting, heldMs, hung }, random));
  t.deepEqual(waits(100, 0), [100, 300]); // Taken just now, so the endpoint may or may not hang.
  t.deepEqual(waits(5, 20), [100, 300]);
  t.deepEqual(waits(100, 200), [100, 5100]); // 4 at a time, 0.2 s each.
  t.deepEqual(waits(4, 9000), [100, 9100]);
  t.deepEqual(waits(200, 9000), [100, 60_100]);
  t.deepEqual(waits(5000, 9000), [100, 1_000_100]); // Half of 1,000 s on average: 10 a second.
  t.deepEqual(waits(5000, 20), [100, 25_100]); // It responds again.
  t.deepEqual(waits(5000, 20, 100), [100, 25_100]); // Other hanging endpoints do not matter to it.
  t.deepEqual(waits(400, 210_000, 101), [100, 20_000_100]); // Four a second for all that hang.
});

test('only 2xx is a delivery, and a redirect has an error of its own', (t) => {
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

test('the first overdue post of a channel goes at once, and each other one after those before it', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: null }), 0);
  t.is(waitForTurnMs({ ahead: 1, sinceLastMs: null }), lateSpacingMs);
  t.is(waitForTurnMs({ ahead: 5, sinceLastMs: 60_000 }), 5 * lateSpacingMs);
});

test('an overdue post keeps its distance to the one before it', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: 0 }), lateSpacingMs);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: lateSpacingMs - 1 }), 1);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: lateSpacingMs }), 0);
  t.is(waitForTurnMs({ ahead: 2, sinceLastMs: 500 }), 3 * lateSpacingMs - 500);
});

test('a far overdue post retries halfway, and at least every ten minutes, because those before it may be cancelled', (t) => {
  t.is(waitForTurnMs({ ahead: 60, sinceLastMs: null }), 2 * minute);
  t.is(waitForTurnMs({ ahead: 90, sinceLastMs: null }), 2 * minute);
  t.is(waitForTurnMs({ ahead: 300, sinceLastMs: null }), 5 * minute);
  t.is(waitForTurnMs({ ahead: mostCounted, sinceLastMs: null }), 10 * minute);
  t.is(waitForTurnMs({ ahead: 10 * mostCounted, sinceLastMs: 0 }), 10 * minute);
});

test('a clock that was set back does not stop overdue posts', (t) => {
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: -3_600_000 }), 0);
  t.is(waitForTurnMs({ ahead: 0, sinceLastMs: -0.5 }), lateSpacingMs - 0.5); // Rounded up to a millisecond.
});
