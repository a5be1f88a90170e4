import type { LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { retryAtMs } from '../answer.ts';

/** X's windows: 15 minutes of the account, and a day of the account or of the app. */
const windows = ['x-rate-limit', 'x-user-limit-24hour', 'x-app-limit-24hour'] as const;

/** How long X is left alone when the app has no money left, in milliseconds: X does not say when there is some again. */
export const moneyWaitMs = 15 * 60_000;
/** The same for an account that has met its limit of a day, where X does not say when that is over. */
export const accountDayWaitMs = 60 * 60_000;

/**
 * Where a limit was met, until when, and for whom it holds. Every answer names every window, so that the one that was
 * met is the one with nothing left.
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
