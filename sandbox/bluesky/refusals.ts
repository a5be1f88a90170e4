import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';

/** A PDS's response to an internal error, and to a record key that is taken. */
export function internalError(message = 'Internal Server Error'): Refusal {
  return new Refusal(500, message, { code: 'InternalServerError' });
}

export function revoked(): Refusal {
  return new Refusal(400, 'Token has been revoked', { code: 'ExpiredToken' });
}

/** The PDS's response for a fate of the script. */
export function refusalFor(fate: Exclude<Fate, { kind: 'take' }>, nowMs: number): Refusal {
  switch (fate.kind) {
    case 'refuse':
      return new Refusal(400, fate.reason);
    case 'duplicate':
      return new Refusal(400, 'The account has posted this already');
    case 'busy':
      return tooManyRequests(Math.ceil(fate.resetMs / 1000), nowMs);
    case 'revoked':
      return revoked();
    case 'ended':
      return new Refusal(400, 'Token has expired', { code: 'ExpiredToken' });
  }
}

function tooManyRequests(resetSeconds: number, nowMs: number): Refusal {
  return new Refusal(429, 'Rate Limit Exceeded', {
    code: 'RateLimitExceeded',
    headers: {
      'ratelimit-limit': '5000',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(resetSeconds),
      'retry-after': String(Math.ceil(resetSeconds - nowMs / 1000)),
    },
  });
}
