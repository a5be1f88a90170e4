import test from 'ava';
import { fateOfChannel, type FailedAttempt, type NextAttempt } from '../../domain/next-attempt.ts';

const retry: NextAttempt = { kind: 'retry', atMs: 0, counts: true };
const refused: NextAttempt = { kind: 'give_up', code: 'content_refused' };
const over: NextAttempt = { kind: 'give_up', code: 'cancelled' };

type Parts = 'none' | 'live' | 'in doubt' | 'live and in doubt';

for (const [post, next, parts, fate] of [
  ['publishing', retry, 'none', 'retry'],
  ['publishing', retry, 'live', 'retry'],
  ['publishing', retry, 'in doubt', 'retry'],
  ['publishing', refused, 'none', 'failed'],
  ['publishing', refused, 'live', 'failed'],
  ['publishing', refused, 'in doubt', 'unconfirmed'],
  ['draft', retry, 'none', 'draft'],
  ['draft', retry, 'live', 'cancelled'],
  ['draft', retry, 'in doubt', 'retry'],
  ['draft', retry, 'live and in doubt', 'retry'],
  ['draft', over, 'none', 'draft'],
  ['draft', over, 'live', 'cancelled'],
  ['draft', refused, 'none', 'failed'],
  ['draft', refused, 'live', 'cancelled'],
  ['draft', refused, 'live and in doubt', 'unconfirmed'],
  ['scheduled', retry, 'none', 'scheduled'],
  ['scheduled', refused, 'in doubt', 'scheduled'],
  ['failed', retry, 'none', 'draft'],
  [undefined, retry, 'none', 'draft'],
] as const satisfies readonly (readonly [FailedAttempt['post'], NextAttempt, Parts, string])[]) {
  const step = next.kind === 'retry' ? 'a failure that passes' : `a failure by ${next.code}`;
  test(`after ${step} with ${parts} of its parts on the network, a channel of a ${post ?? 'deleted'} post is ${fate}`, (t) => {
    const isInDoubt = parts.includes('in doubt');
    const isPartLive = parts.includes('live');
    const attempt = { post, next, isInDoubt, isPartLive };
    t.is(fateOfChannel(attempt), fate);
  });
}
