import { labelsIn } from '../plan/texts.ts';
import { tokenOf, usualTimeoutMs, type LinePlatform } from './line-platform.ts';

/** The token identifies the account. */
export const mastodonLine: LinePlatform = {
  platform: 'mastodon',
  labels: ({ method, path, body }) =>
    method === 'POST' && path === '/api/v1/statuses' ? labelsIn(body) : [],
  accountOf: tokenOf,
  beyondTimeoutMs: usualTimeoutMs,
  refusal: { status: 422, body: { error: 'Validation failed: Text is not wanted here' } },
  tooMany: (seconds) => ({
    status: 429,
    headers: { 'retry-after': String(seconds) },
    body: { error: 'Too many requests' },
  }),
  broken: { status: 500, body: { error: 'Internal Server Error' } },
};

/** The DID identifies the account. */
export const blueskyLine: LinePlatform = {
  platform: 'bluesky',
  labels: ({ method, path, body }) =>
    method === 'POST' && /^\/xrpc\/com\.atproto\.repo\.(?:applyWrites|createRecord)$/v.test(path)
      ? labelsIn(body)
      : [],
  accountOf: (request) => subjectOf(tokenOf(request)),
  beyondTimeoutMs: usualTimeoutMs,
  refusal: {
    status: 400,
    body: {
      error: 'InvalidRequest',
      message: 'Invalid app.bsky.feed.post record: not wanted here',
    },
  },
  tooMany: (seconds) => ({
    status: 429,
    headers: { 'retry-after': String(seconds) },
    body: { error: 'RateLimitExceeded', message: 'Rate Limit Exceeded' },
  }),
  broken: { status: 500, body: { error: 'InternalServerError', message: 'Internal Server Error' } },
};

/** @returns the `sub` of a JWT. */
function subjectOf(jwt: string): string {
  const payload = Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8');
  return /"sub":"(?<did>[^"]+)"/v.exec(payload)?.groups?.['did'] ?? '';
}
