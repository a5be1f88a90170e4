import { type Policy, type Standing, windowSeconds } from './limiter.ts';

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
