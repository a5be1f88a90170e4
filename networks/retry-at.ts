import type { EgressResponse } from '../runtime/egress/egress.ts';

/** A channel gives up 24 h after its time, so a longer wait would only hide a server's mistake. */
const maxWaitMs = 24 * 60 * 60 * 1000;
/** Below this a number of seconds is a wait, above it an instant (it is 2001 as one). */
const firstInstantSeconds = 1e9;

/**
 * When a network says that it takes requests again, in milliseconds since 1970; undefined when it does not say.
 *
 * Reads `Retry-After` (seconds, or a date) before the reset header, which Mastodon writes as an ISO 8601 date
 * and Bluesky as seconds since 1970. That one counts only where the limit was met: servers send it with every answer.
 * A time that is over by now (`Retry-After: 0`, a clock that is wrong) names none. At most a day later than `nowMs`.
 *
 * Sources: RFC 9110 section 10.2.3, https://docs.joinmastodon.org/api/rate-limits/,
 * https://docs.bsky.app/docs/advanced-guides/rate-limits.
 */
export function retryAtMs(response: EgressResponse, nowMs: number): number | undefined {
  const { headers, status } = response;
  const resets = status === 429 ? ['x-ratelimit-reset', 'ratelimit-reset'] : [];
  for (const name of ['retry-after', ...resets]) {
    const atMs = instantMs(headers[name] ?? '', nowMs);
    if (atMs !== undefined && atMs > nowMs) {
      return Math.min(atMs, nowMs + maxWaitMs);
    }
  }

  return undefined;
}

function instantMs(value: string, nowMs: number): number | undefined {
  if (/^\d+(\.\d+)?$/.test(value)) {
    const seconds = Number(value);
    return seconds < firstInstantSeconds ? nowMs + seconds * 1000 : seconds * 1000;
  }

  // `Date.parse` alone makes a date of almost anything, `-5` included.
  const isDate = /^\d{4}-\d{2}-\d{2}T|^[A-Z][a-z]{2}, \d{2} /.test(value);
  const atMs = isDate ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}
