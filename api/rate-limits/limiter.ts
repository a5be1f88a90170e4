import type { Pool } from 'pg';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { inBatches } from './in-batches.ts';

/** Calls per window of `windowSeconds`, which begins with the first call. */
export type Policy = { readonly name: string; readonly quota: number };

const windowSeconds = 60;

/** A caller's state under a policy, after one of its calls was counted. */
export type Standing = {
  readonly policy: Policy;
  /** Calls left in this window. */
  readonly remaining: number;
  /** Until the window ends; at least 1. */
  readonly resetSeconds: number;
  /** Whether this call exceeded the quota. */
  readonly refused: boolean;
};

/**
 * Counts a call in PostgreSQL, for all API processes together.
 *
 * @param key Identifies the caller; never an API key itself. At most 200 characters.
 * @throws Error of `pg` when the database is unavailable, so that no call goes uncounted.
 */
export type Limiter = (key: string) => Promise<Standing>;

/** @param options.clearsUp Also removes expired rows; one limiter of the process is enough. */
export function createLimiter(
  pool: Pool,
  policy: Policy,
  { clearsUp = false }: { clearsUp?: boolean } = {},
): Limiter {
  const { name, quota } = policy;
  const counter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true, // By a migration.
    clearExpiredByTimeout: clearsUp,
    keyPrefix: name,
    points: quota,
    duration: windowSeconds,
    // Refuses a caller over its quota from memory until the window ends, so that a flood costs no statements.
    inMemoryBlockOnConsumed: quota,
  });
  const count = inBatches(async (key, size) => counter.consume(key, size).catch(refusal));
  return async (key) => {
    const { result, position: inBatch, size } = await count(key);
    const { consumedPoints, msBeforeNext } = result;
    // A refusal from memory has no count. Calls of a batch get consecutive positions, like separate calls.
    const position = consumedPoints === 0 ? Infinity : consumedPoints - size + inBatch;
    return {
      policy,
      remaining: Math.max(quota - position, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
      refused: position > quota,
    };
  };
}

/** The library throws the counter when the quota is exceeded. */
function refusal(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) {
    return thrown;
  }

  throw thrown;
}

/**
 * Builds the fields of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4, as lists of structured
 * fields (RFC 9651): the policies, and the caller's state under those that counted this call.
 */
export const rateLimitHeaders = (
  policies: readonly Policy[],
  standings: readonly Standing[],
): Record<string, string> => ({
  'RateLimit-Policy': policies
    .map(({ name, quota }) => `"${name}";q=${quota};w=${windowSeconds}`)
    .join(', '),
  RateLimit: standings
    .map(({ policy, remaining, resetSeconds: t }) => `"${policy.name}";r=${remaining};t=${t}`)
    .join(', '),
});
