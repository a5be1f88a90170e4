import type { Platform } from '../plan/faults.ts';
import { labelsIn, type Label } from '../plan/texts.ts';

export type LineRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** How a network's requests and answers look from outside. Knows nothing of the adapters that it watches. */
export type LinePlatform = {
  readonly platform: Platform;
  /** The texts of the posts that a request would make; empty when it would make none. */
  readonly labels: (request: LineRequest) => Label[];
  /** Whose request it is: a Mastodon account's token, a Bluesky account's DID; empty when it does not say. */
  readonly accountOf: (request: LineRequest) => string;
  /** What the network answers when it does not want a post. */
  readonly refusal: { readonly status: number; readonly body: object };
  readonly tooMany: { readonly status: number; readonly body: object };
  readonly broken: { readonly status: number; readonly body: object };
};

export const mastodonLine: LinePlatform = {
  platform: 'mastodon',
  labels: ({ method, path, body }) =>
    method === 'POST' && path === '/api/v1/statuses' ? labelsIn(body) : [],
  accountOf: tokenOf,
  refusal: { status: 422, body: { error: 'Validation failed: Text is not wanted here' } },
  tooMany: { status: 429, body: { error: 'Too many requests' } },
  broken: { status: 500, body: { error: 'Internal Server Error' } },
};

export const blueskyLine: LinePlatform = {
  platform: 'bluesky',
  labels: ({ method, path, body }) =>
    method === 'POST' && /^\/xrpc\/com\.atproto\.repo\.(?:applyWrites|createRecord)$/v.test(path)
      ? labelsIn(body)
      : [],
  accountOf: (request) => subjectOf(tokenOf(request)),
  refusal: {
    status: 400,
    body: {
      error: 'InvalidRequest',
      message: 'Invalid app.bsky.feed.post record: not wanted here',
    },
  },
  tooMany: { status: 429, body: { error: 'RateLimitExceeded', message: 'Rate Limit Exceeded' } },
  broken: { status: 500, body: { error: 'InternalServerError', message: 'Internal Server Error' } },
};

function tokenOf({ headers }: LineRequest): string {
  return String(headers['authorization'] ?? '').replace(/^Bearer /v, '');
}

/** Of a JWT. */
function subjectOf(jwt: string): string {
  const payload = Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8');
  return /"sub":"(?<did>[^"]+)"/v.exec(payload)?.groups?.['did'] ?? '';
}
