import type { Context } from 'koa';
import type { Pool } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { RateLimits } from '../../runtime/config/limits.ts';
import {
  clientAddress,
  createConcurrencyLimit,
  acquire,
} from '../rate-limits/concurrency-limit.ts';
import { createLimiter, rateLimitHeaders, type Standing } from '../rate-limits/limiter.ts';
import { authenticator } from './authenticate.ts';
import type { Caller } from './route.ts';

/**
 * Authenticates a call and applies the rate limits.
 *
 * @throws AppError `unauthorized`; `rate_limited` when the key has used up its calls or has too many under way, or
 *   when this address sent many wrong keys (a valid key is still accepted from there, since clients may share an
 *   address); `unavailable` while the database is not ready.
 */
export type Admission = (ctx: Context, isWrite: boolean) => Promise<Caller>;

/** Limits per key and default quotas. */
export type Allowances = {
  /** Concurrent requests of a key in this process; 0 is unlimited. */
  readonly maxConcurrent: number;
  /** For workspaces without quotas of their own. */
  readonly quotas: Quotas;
};

/** @param assertOpen Throws while the database is not ready. */
export function createAdmission(
  pool: Pool,
  limits: RateLimits,
  { maxConcurrent, quotas }: Allowances,
  assertOpen: () => void = () => undefined,
): Admission {
  const concurrencyLimit = createConcurrencyLimit(maxConcurrent);
  const requestPolicy = { name: 'requests', quota: limits.requests };
  const writePolicy = { name: 'writes', quota: limits.writes };
  const wrongKeyPolicy = { name: 'wrong-keys', quota: limits.wrongKeys };
  const countRequest = createLimiter(pool, requestPolicy, { clearsUp: true });
  const countWrite = createLimiter(pool, writePolicy);
  const countWrongKey = createLimiter(pool, wrongKeyPolicy);
  const authenticate = authenticator(pool, quotas, assertOpen);

  /** Counts the request first: a refused request must not count as a write. */
  async function count(keyId: string, isWrite: boolean): Promise<Standing[]> {
    const asRequest = await countRequest(keyId);
    return isWrite && !asRequest.refused ? [asRequest, await countWrite(keyId)] : [asRequest];
  }

  async function refuseWrongKey(ctx: Context): Promise<never> {
    const standing = await countWrongKey(clientAddress(ctx.ip));
    if (standing.refused) {
      ctx.set(rateLimitHeaders([wrongKeyPolicy], [standing]));
      throw tooMany(standing, 'calls with a wrong API key from your address');
    }

    throw new AppError('unauthorized', 'This API key is unknown or was revoked.');
  }

  return async (ctx, isWrite) => {
    const known = await authenticate(ctx.get('authorization'));
    if (!known) {
      return refuseWrongKey(ctx);
    }

    const standings = await count(known.keyId, isWrite);
    ctx.set(rateLimitHeaders([requestPolicy, writePolicy], standings));
    const refusal = standings.find(({ refused }) => refused);
    if (refusal) {
      throw tooMany(refusal, `${refusal.policy.name} with this API key`);
    }

    acquire(ctx, concurrencyLimit, known.keyId, 'with this API key');
    return known.caller;
  };
}

function tooMany({ policy, resetSeconds }: Standing, what: string): AppError {
  const message = `More than ${policy.quota} ${what} in a minute. Try again in ${resetSeconds} s.`;
  return new AppError('rate_limited', message, { retryAfter: resetSeconds });
}
