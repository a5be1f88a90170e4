import type { Context } from 'koa';
import type { Pool } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { RateLimits } from '../../runtime/config/limits.ts';
import { clientAddress, createCrowd, enterCrowd } from '../rate-limits/crowd.ts';
import { createLimiter, rateLimitHeaders, type Standing } from '../rate-limits/limiter.ts';
import { authenticator } from './authenticate.ts';
import type { Caller } from './route.ts';

/**
 * What stands before every call: whose key it is, and whether it called too often.
 *
 * @throws AppError `unauthorized`; `rate_limited` when the key has used up its calls, or when this address sent
 * many wrong ones, or when too many of the key's are under way. A right key gets in from there all the same, since many clients may share an address.
 * `unavailable` while the database is not prepared.
 */
export type Admission = (ctx: Context, isWrite: boolean) => Promise<Caller>;

/** What one key may do at the same time, and its workspace may have. */
export type Allowances = {
  /** How many requests of a key may be under way in this process; 0 is no bound. */
  readonly mostAtATime: number;
  /** Of workspaces that have none of their own. */
  readonly quotas: Quotas;
};

/** @param assertOpen Throws while the database may not be asked yet. */
export function createAdmission(
  pool: Pool,
  limits: RateLimits,
  { mostAtATime, quotas }: Allowances,
  assertOpen: () => void = () => undefined,
): Admission {
  const crowd = createCrowd(mostAtATime);
  const requestPolicy = { name: 'requests', quota: limits.requests };
  const writePolicy = { name: 'writes', quota: limits.writes };
  const wrongKeyPolicy = { name: 'wrong-keys', quota: limits.wrongKeys };
  const countRequest = createLimiter(pool, requestPolicy, { clearsUp: true });
  const countWrite = createLimiter(pool, writePolicy);
  const countWrongKey = createLimiter(pool, wrongKeyPolicy);
  const authenticate = authenticator(pool, quotas, assertOpen);

  /** One after the other: a call that is refused as a request has written nothing. */
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

    enterCrowd(ctx, crowd, known.keyId, 'with this API key');
    return known.caller;
  };
}

function tooMany({ policy, resetSeconds }: Standing, what: string): AppError {
  const message = `More than ${policy.quota} ${what} in a minute. Go on in ${resetSeconds} s.`;
  return new AppError('rate_limited', message, { retryAfter: resetSeconds });
}
