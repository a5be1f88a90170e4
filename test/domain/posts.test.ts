import test from 'ava';
import { channelErrorCodes, channelErrors, failureAdvice } from '../../domain/channel-error.ts';
import { nextAttempt, type NextAttempt } from '../../domain/next-attempt.ts';
import {
  type ChannelStatus,
  channelStatuses,
  type EventType,
  finalEventType,
  isFinal,
  type PostStatus,
  statusOfBegunPost,
  summarize,
} from '../../domain/statuses.ts';

const dueAtMs = Date.UTC(2026, 4, 1, 10);
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

type Case = {
  readonly code: (typeof channelErrorCodes)[number];
  /** In milliseconds after the post's due time. */
  readonly retryAt?: number;
  readonly attemptsBefore: number;
  readonly now: number;
};

const decide = ({ code, retryAt, attemptsBefore, now }: Case): NextAttempt =>
  nextAttempt(
    { code, retryAtMs: retryAt === undefined ? undefined : dueAtMs + retryAt },
    attemptsBefore,
    dueAtMs,
    dueAtMs + now,
  );

const retry = (after: number, counts = true): NextAttempt => ({
  kind: 'retry',
  atMs: dueAtMs + after,
  counts,
});

test('a network that does not respond gets 5 attempts, after 30 s, 2 min, 10 min and 30 min', (t) => {
  const waits = [30 * second, 2 * minute, 10 * minute, 30 * minute];
  for (const [attemptsBefore, wait] of waits.entries()) {
    t.deepEqual(
      decide({ code: 'network_unavailable', attemptsBefore, now: hour }),
      retry(hour + wait),
      `after ${attemptsBefore + 1} attempts`,
    );
  }

  for (const attemptsBefore of [4, 5, 100]) {
    const last = decide({ code: 'network_unavailable', attemptsBefore, now: hour });
    t.deepEqual(last, { kind: 'give_up', code: 'network_unavailable' });
  }
});

test('a network that asks for a second of patience all day gets growing delays', (t) => {
  let asked = 0;
  let now = 0;
  for (;;) {
    const next = decide({ code: 'rate_limited', retryAt: now + second, attemptsBefore: 0, now });
    if (next.kind === 'give_up') {
      break;
    }

    t.false(next.counts);
    now = next.atMs - dueAtMs;
    asked += 1;
  }

  t.true(asked < 2000, `${asked} times`);
  t.deepEqual(decide({ code: 'rate_limited', retryAt: second, attemptsBefore: 0, now: 0 }), {
    ...retry(second, false),
  });
});

test('a time from the network replaces our delay when it is later', (t) => {
  const failed = { code: 'network_unavailable', attemptsBefore: 0, now: 0 } as const;
  t.deepEqual(decide({ ...failed, retryAt: 45 * second }), retry(45 * second));
  t.deepEqual(decide({ ...failed, retryAt: 10 * second }), retry(30 * second));
  t.deepEqual(decide({ ...failed, retryAt: -hour }), retry(30 * second));
});

test('a rate limit is waited for until its end, and does not count as an attempt', (t) => {
  for (const attemptsBefore of [0, 4, 100]) {
    const limited = { code: 'rate_limited', attemptsBefore, now: minute } as const;
    t.deepEqual(decide({ ...limited, retryAt: 3 * hour }), retry(3 * hour, false));
  }
});

test('a rate limit without a time, or with a past one, is retried soon but not at once', (t) => {
  const limited = { code: 'rate_limited', attemptsBefore: 0, now: 0 } as const;
  t.deepEqual(decide(limited), retry(minute, false));
  t.deepEqual(decide({ ...limited, retryAt: -minute }), retry(second, false));
  t.deepEqual(decide({ ...limited, retryAt: 0 }), retry(second, false));
});

test('an internal error does not count as an attempt, and its delay grows by half of the time that the post is late', (t) => {
  for (const attemptsBefore of [0, 4, 100]) {
    const fault = { code: 'internal', attemptsBefore } as const;
    t.deepEqual(decide({ ...fault, now: 0 }), retry(30 * second, false));
    t.deepEqual(decide({ ...fault, now: minute }), retry(90 * second, false));
    t.deepEqual(decide({ ...fault, now: 4 * minute }), retry(6 * minute, false));
    t.deepEqual(decide({ ...fault, now: 5 * hour }), retry(5 * hour + 10 * minute, false));
    const late: NextAttempt = { kind: 'give_up', code: 'too_late' };
    t.deepEqual(decide({ ...fault, now: 24 * hour - minute }), late);
  }
});

test('a channel is given up 24 hours after its due time, whatever it waits for', (t) => {
  const late: NextAttempt = { kind: 'give_up', code: 'too_late' };
  const down = { code: 'network_unavailable', attemptsBefore: 0 } as const;
  t.deepEqual(decide({ ...down, now: 24 * hour - 30 * second }), retry(24 * hour));
  t.deepEqual(decide({ ...down, now: 24 * hour - 30 * second + 1 }), late);
  t.deepEqual(decide({ ...down, now: 0, retryAt: 25 * hour }), late);

  const limited = { code: 'rate_limited', attemptsBefore: 0, now: 0 } as const;
  t.deepEqual(decide({ ...limited, retryAt: 24 * hour }), retry(24 * hour, false));
  t.deepEqual(decide({ ...limited, retryAt: 24 * hour + 1 }), late);
});

test('an error that a retry cannot help ends the channel at once, with its own code', (t) => {
  const hopeless = channelErrorCodes.filter((code) => !channelErrors[code].canRetryLater);
  t.deepEqual(hopeless, [
    'content_refused',
    'media_refused',
    'duplicate',
    'access_lost',
    'disconnected',
    'permission_missing',
    'too_late',
    'cancelled',
    'unconfirmed',
    'not_published',
  ]);
  for (const code of hopeless) {
    for (const retryAt of [undefined, hour]) {
      const next = decide({ code, attemptsBefore: 0, now: 0, ...(retryAt ? { retryAt } : {}) });
      t.deepEqual(next, { kind: 'give_up', code });
    }
  }
});

test('the error of each ended channel names the next step', (t) => {
  for (const code of channelErrorCodes) {
    t.regex(
      failureAdvice(code, null),
      /(?:[Rr]etry|make a new post|settle|new time)[^.]*\.$/v,
      code,
    );
  }
});

test('while a channel waits for its next attempt, its owner reads when', (t) => {
  for (const code of channelErrorCodes) {
    const advice = failureAdvice(code, Date.UTC(2026, 4, 1, 12));
    const what = code === 'processing' ? 'The next check' : 'The next attempt';
    t.is(advice, `${what} is at 2026-05-01T12:00:00.000Z.`, code);
  }
});

type Outcome = readonly [ChannelStatus[], PostStatus, EventType | null];

const outcomes: Outcome[] = [
  [['published'], 'published', 'post.published'],
  [['published', 'published'], 'published', 'post.published'],
  [['failed'], 'failed', 'post.failed'],
  [['unconfirmed'], 'failed', 'post.failed'],
  [['failed', 'unconfirmed'], 'failed', 'post.failed'],
  [['published', 'failed'], 'failed', 'post.partial'],
  [['unconfirmed', 'published'], 'failed', 'post.partial'],
  [['published', 'failed', 'unconfirmed'], 'failed', 'post.partial'],
  [['published', 'publishing'], 'publishing', null],
  [['failed', 'retrying'], 'publishing', null],
  [['published', 'scheduled'], 'publishing', null],
  [['published', 'failed', 'draft'], 'publishing', null],
];

test('a post’s status and its one final event follow from its channels', (t) => {
  for (const [channels, status, event] of outcomes) {
    t.is(statusOfBegunPost(channels), status, channels.join());
    t.is(finalEventType(channels), event, channels.join());
    t.is(finalEventType(channels.toReversed()), event, channels.join());
  }
});

test('a post ends once each channel is published, failed or unconfirmed', (t) => {
  t.deepEqual(channelStatuses.filter(isFinal), ['published', 'failed', 'unconfirmed']);
  for (const status of channelStatuses) {
    t.is(finalEventType([status]) !== null, isFinal(status), status);
    t.is(finalEventType([status, 'published']) !== null, isFinal(status), status);
  }
});

test('the summary counts each channel once: an unconfirmed one as failed, an open one as pending', (t) => {
  t.deepEqual(summarize([]), { published: 0, failed: 0, pending: 0, removed: 0 });
  t.deepEqual(summarize(channelStatuses), { published: 1, failed: 2, pending: 4, removed: 0 });
  t.deepEqual(summarize(['published', 'removed']), {
    published: 2,
    failed: 0,
    pending: 0,
    removed: 1,
  });
});
