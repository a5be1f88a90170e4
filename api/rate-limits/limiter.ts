import type { Pool } from 'pg';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { inBatches } from './in-batches.ts';

/** So many calls in each window of `windowSeconds`, which begins with the first of them. */
export type Policy = { readonly name: string; readonly quota: number };

const windowSeconds = 60;

/** How a caller stands towards a policy after one of its calls was counted. */
export type Standing = {
  readonly policy: Policy;
  /** Calls that are left in this window. */
  readonly remaining: number;
  /** Until the window ends; 1 at least. */
  readonly resetSeconds: number;
  /** Whether this call was one too many. */
  readonly refused: boolean;
};

/**
 * Counts a call, in PostgreSQL, where all API processes meet.
 *
 * @param key Whose call it is; never an API key itself. It may be at most 200 characters long.
 * @throws Error of `pg` when the database is away; then no call gets in uncounted.
 */
export type Limiter = (key: string) => Promise<Standing>;

/** @param options.clearsUp Whether it also removes expired rows; one limiter is enough for it. */
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
    // A caller that has used up its quota is refused from memory until the window ends, so that a flood costs no statement.
    inMemoryBlockOnConsumed: quota,
  });
  const count = inBatches(async (key, size) => counter.consume(key, size).catch(refusal));
  return async (key) => {
    const { result, position: inBatch, size } = await count(key);
    const { consumedPoints, msBeforeNext } = result;
    // A refusal from memory has no number. Those of a batch come one after the other, like calls on their own.
    const position = consumedPoints === 0 ? Infinity : consumedPoints - size + inBatch;
    return {
      policy,
      remaining: Math.max(quota - position, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
      refused: position > quota,
    };
  };
}

/** The library throws what it counted when that is too much. */
function refusal(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) {
    return thrown;
  }

  throw thrown;
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4, which are lists of
 * structured fields (RFC 9651): what the policies are, and how the caller stands towards those that counted this call.
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
