import { mutationsOf, type Mutation } from './mutation.ts';

const domain = ['test/domain'];

/** When a post is due, tried again or given up; what its channels make of it; how long deliveries wait. */
export const domainMutations: readonly Mutation[] = [
  ...mutationsOf('domain/next-try.ts', domain, [
    [
      'the first wait between tries is left out',
      'publishWaitsMs[triesMade - 1]',
      'publishWaitsMs[triesMade]',
    ],
    ['a channel gives up after half a day', '24 * hour', '12 * hour'],
    ['a fault of ours is left alone for twice the lateness', '(lateMs / 2)', '(lateMs * 2)'],
  ]),
  ...mutationsOf('domain/next-try.ts', domain, [
    [
      'a fault of ours counts as a try',
      "code !== 'rate_limited' && code !== 'internal'",
      "code !== 'rate_limited'",
    ],
    [
      'a network that names an earlier time shortens our wait',
      'Math.max(nowMs + waitMs, retryAtMs ?? 0)',
      'retryAtMs ?? nowMs + waitMs',
    ],
    [
      'a channel is given up only once its day is over',
      'return atMs > dueAtMs',
      'return nowMs > dueAtMs',
    ],
  ]),
  ...mutationsOf('domain/due-time.ts', domain, [
    [
      'minutes ahead are held against a limit in milliseconds',
      'inMinutes * minute > twoYears',
      'inMinutes > twoYears',
    ],
    [
      'a time of six minutes ago means now',
      'pastTolerance = 5 * minute',
      'pastTolerance = 6 * minute',
    ],
  ]),
  ...mutationsOf('domain/due-time.ts', domain, [
    ['24:00 is an hour', "number('hour') <= 23", "number('hour') <= 24"],
  ]),
  ...mutationsOf('domain/post-status.ts', domain, [
    [
      'an unconfirmed channel is pending',
      "s === 'failed' || s === 'unconfirmed'",
      "s === 'failed'",
    ],
    [
      'an unconfirmed channel is not final',
      "status === 'failed' || status === 'unconfirmed';",
      "status === 'failed';",
    ],
  ]),
  ...mutationsOf(
    'domain/post-status.ts',
    ['test/domain', 'test/activities', 'test/api/posts'],
    [
      [
        'a post that is out on some channels only has failed',
        "published > 0 ? 'post.partial'",
        "published > 1 ? 'post.partial'",
      ],
    ],
  ),
  ...mutationsOf('domain/post-view.ts', domain, [
    ['a published channel shows what the post says now', 'channel.sent_text ??', ''],
  ]),
  ...mutationsOf('domain/texts.ts', domain, [
    [
      'a body wins over a thread',
      'post.thread ?? (post.body === null ? [] : [post.body])',
      'post.body === null ? (post.thread ?? []) : [post.body]',
    ],
  ]),
  ...mutationsOf('domain/webhook-deliveries.ts', domain, [
    ['a delivery comes earlier than its step', '(1 + jitter * random)', '(1 - jitter * random)'],
    [
      'a receiver puts us off for as long as it likes',
      'Math.min(Math.max(spreadMs, askedMs ?? 0), longest * stepMs)',
      'Math.max(spreadMs, askedMs ?? 0)',
    ],
    ['Retry-After is read as milliseconds', 'Number(text) * 1000', 'Number(text)'],
  ]),
  ...mutationsOf('domain/pacing.ts', domain, [
    [
      'a late post waits one turn too long',
      'gapMs + ahead * lateSpacingMs',
      'gapMs + (ahead + 1) * lateSpacingMs',
    ],
  ]),
];
