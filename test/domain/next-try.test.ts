import test from 'ava';
import { canRetryLater, channelErrorCodes } from '../../domain/channel-error.ts';
import { nextTry, type NextTry } from '../../domain/next-try.ts';

const dueAtMs = Date.UTC(2026, 4, 1, 10);
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

type Case = {
  readonly code: (typeof channelErrorCodes)[number];
  /** In milliseconds after the post's time. */
  readonly retryAt?: number;
  readonly triesBefore: number;
  readonly now: number;
};

const decide = ({ code, retryAt, triesBefore, now }: Case): NextTry =>
  nextTry(
    { code, retryAtMs: retryAt === undefined ? undefined : dueAtMs + retryAt },
    triesBefore,
    dueAtMs,
    dueAtMs + now,
  );

const retry = (after: number, counts = true): NextTry => ({
  kind: 'retry',
  atMs: dueAtMs + after,
  counts,
});

test('a network that does not answer is tried 5 times, after 30 s, 2 min, 10 min and 30 min', (t) => {
  const waits = [30 * second, 2 * minute, 10 * minute, 30 * minute];
  for (const [triesBefore, wait] of waits.entries()) {
    t.deepEqual(
      decide({ code: 'network_unavailable', triesBefore, now: hour }),
      retry(hour + wait),
      `after ${triesBefore + 1} tries`,
    );
  }

  for (const triesBefore of [4, 5, 100]) {
    const last = decide({ code: 'network_unavailable', triesBefore, now: hour });
    t.deepEqual(last, { kind: 'give_up', code: 'network_unavailable' });
  }
});

test('a time that the network names takes the place of our wait when it is later', (t) => {
  const failed = { code: 'network_unavailable', triesBefore: 0, now: 0 } as const;
  t.deepEqual(decide({ ...failed, retryAt: 45 * second }), retry(45 * second));
  t.deepEqual(decide({ ...failed, retryAt: 10 * second }), retry(30 * second));
  t.deepEqual(decide({ ...failed, retryAt: -hour }), retry(30 * second));
});

test('a rate limit is waited out to its time, and the wait is no try', (t) => {
  for (const triesBefore of [0, 4, 100]) {
    const limited = { code: 'rate_limited', triesBefore, now: minute } as const;
    t.deepEqual(decide({ ...limited, retryAt: 3 * hour }), retry(3 * hour, false));
  }
});

test('a rate limit that names no time, or one that is over, is asked again soon and not at once', (t) => {
  const limited = { code: 'rate_limited', triesBefore: 0, now: 0 } as const;
  t.deepEqual(decide(limited), retry(minute, false));
  t.deepEqual(decide({ ...limited, retryAt: -minute }), retry(second, false));
  t.deepEqual(decide({ ...limited, retryAt: 0 }), retry(second, false));
});

test('a fault on our side is no try, and waited for as long again as half the time that the post is late', (t) => {
  for (const triesBefore of [0, 4, 100]) {
    const fault = { code: 'internal', triesBefore } as const;
    t.deepEqual(decide({ ...fault, now: 0 }), retry(30 * second, false));
    t.deepEqual(decide({ ...fault, now: minute }), retry(90 * second, false));
    t.deepEqual(decide({ ...fault, now: 4 * minute }), retry(6 * minute, false));
    t.deepEqual(decide({ ...fault, now: 5 * hour }), retry(5 * hour + 10 * minute, false));
    const late: NextTry = { kind: 'give_up', code: 'too_late' };
    t.deepEqual(decide({ ...fault, now: 24 * hour - minute }), late);
  }
});

test('a channel is given up 24 hours after its time, whatever is waited for', (t) => {
  const late: NextTry = { kind: 'give_up', code: 'too_late' };
  const down = { code: 'network_unavailable', triesBefore: 0 } as const;
  t.deepEqual(decide({ ...down, now: 24 * hour - 30 * second }), retry(24 * hour));
  t.deepEqual(decide({ ...down, now: 24 * hour - 30 * second + 1 }), late);
  t.deepEqual(decide({ ...down, now: 0, retryAt: 25 * hour }), late);

  const limited = { code: 'rate_limited', triesBefore: 0, now: 0 } as const;
  t.deepEqual(decide({ ...limited, retryAt: 24 * hour }), retry(24 * hour, false));
  t.deepEqual(decide({ ...limited, retryAt: 24 * hour + 1 }), late);
});

test('what trying again cannot help is given up at once, under its own name', (t) => {
  const hopeless = channelErrorCodes.filter((code) => !canRetryLater[code]);
  t.deepEqual(hopeless, [
    'content_refused',
    'media_refused',
    'duplicate',
    'access_lost',
    'permission_missing',
    'too_late',
    'unconfirmed',
    'not_published',
  ]);
  for (const code of hopeless) {
    for (const retryAt of [undefined, hour]) {
      const next = decide({ code, triesBefore: 0, now: 0, ...(retryAt ? { retryAt } : {}) });
      t.deepEqual(next, { kind: 'give_up', code });
    }
  }
});
