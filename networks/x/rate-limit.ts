import type { LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { retryAtMs } from '../answer.ts';

/** X's windows: 15 minutes per account, and a day per account or per app. */
const windows = ['x-rate-limit', 'x-user-limit-24hour', 'x-app-limit-24hour'] as const;

/** Wait after the app ran out of money, in milliseconds: X does not say when it has some again. */
export const moneyWaitMs = 15 * 60_000;
/** Wait after an account's daily limit, in milliseconds, where X does not say when it ends. */
export const accountDayWaitMs = 60 * 60_000;

/**
 * The end and the scope of the limit that was met. Every response contains every window; the met one has nothing left.
 *
 * Source: https://docs.x.com/x-api/fundamentals/rate-limits
 */
export function limitOf(
  response: EgressResponse,
  nowMs: number,
): { readonly retryAtMs: number | undefined; readonly limit: LimitScope } {
  const { headers } = response;
  const used = windows.filter((name) => headers[`${name}-remaining`] === '0');
  const resets = (used.length > 0 ? used : windows.slice(0, 1)).map((name) =>
    retryAtMs(
      { ...response, headers: { 'ratelimit-reset': headers[`${name}-reset`] ?? '' } },
      nowMs,
    ),
  );
  const latestMs = Math.max(...resets.map((reset) => reset ?? 0));
  return {
    retryAtMs: latestMs > 0 ? latestMs : retryAtMs(response, nowMs),
    limit: used.includes('x-app-limit-24hour') ? 'network' : 'channel',
  };
}
