import type { ExecutionContext } from 'ava';
import { createAdmission, type Admission } from '../../api/http/admission.ts';
import { createPool } from '../../api/rate-limits/create-pool.ts';
import type { RateLimits } from '../../runtime/config/rate-limits.ts';
import { testLog } from './temporal.ts';

/** So many calls a minute that no test is refused for their number. */
const plenty: RateLimits = { requests: 1_000_000, writes: 1_000_000, wrongKeys: 1_000_000 };

/** What stands before every call of a test's API. @param limits Where the test is about them. */
export function admission(
  t: ExecutionContext,
  databaseUrl: string,
  limits: Partial<RateLimits> = {},
): Admission {
  const pool = createPool(databaseUrl, testLog);
  t.teardown(() => pool.end());
  return createAdmission(pool, { ...plenty, ...limits });
}
