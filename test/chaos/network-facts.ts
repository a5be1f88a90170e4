import type { Platform } from '../../networks/registry.ts';
import type { Env } from '../../runtime/config/settings.ts';
import { assertFacts } from '../support/assert-facts.ts';
import {
  tokenOf,
  usualTimeoutMs,
  type LinePlatform,
  type LineRequest,
} from './networks/line-platform.ts';
import { labelsIn, type Label } from './plan/texts.ts';

type Wire = Omit<LinePlatform, 'platform' | 'accountOf'>;

/** What the suite knows about a network, independent of the product's adapters. */
export type NetworkFacts = {
  /** The requests and responses that publish. Called once per line. */
  readonly wire: () => Wire;
  /**
   * The account of a request, for a network on a real server (`networks/real-networks.ts`). Absent: the sandbox plays
   * the network, with a server for each account.
   */
  readonly realAccountOf?: (request: LineRequest) => string;
  /** Whether a real server names its own address in those of posts, not the proxy's that the product knows. */
  readonly namesItself?: true;
  /** How often the sandbox accepts a refresh token. Absent: it issues none. */
  readonly refreshTokens?: 'single-use' | 'reusable';
  /** Whether the parts of a thread are sent one after the other. */
  readonly isSequential?: true;
  /** Whether a thread is one post with all of its texts and files. */
  readonly joinsThreads?: true;
  readonly needsVideo?: true;
  readonly showsVideoAltTexts?: true;
  /** Whether an attempt may send a post in doubt again after a minute. */
  readonly resendsAfterAMinute?: true;
  /** How long a post in doubt takes to end, if it is live, in seconds. */
  readonly lostSeconds?: number;
  /** The same if it is not live, or not yet. */
  readonly untoldSeconds?: number;
  /** Settings with which the product signs in to the sandbox at this URL without the right to read posts. */
  readonly blindSettings?: (url: string) => Env;
};

const mastodonWire: Wire = {
  labels: ({ method, path, body }) =>
    method === 'POST' && path === '/api/v1/statuses' ? labelsIn(body) : [],
  beyondTimeoutMs: usualTimeoutMs,
  refusal: { status: 422, body: { error: 'Validation failed: Text is not wanted here' } },
  tooMany: (seconds) => ({
    status: 429,
    headers: { 'retry-after': String(seconds) },
    body: { error: 'Too many requests' },
  }),
  broken: { status: 500, body: { error: 'Internal Server Error' } },
};

const blueskyWire: Wire = {
  labels: ({ method, path, body }) =>
    method === 'POST' && /^\/xrpc\/com\.atproto\.repo\.(?:applyWrites|createRecord)$/v.test(path)
      ? labelsIn(body)
      : [],
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

/** @returns the `sub` of a JWT: the DID. */
function subjectOf(jwt: string): string {
  const payload = Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8');
  return /"sub":"(?<did>[^"]+)"/v.exec(payload)?.groups?.['did'] ?? '';
}

/** Epoch seconds. */
const resetIn = (seconds: number): string => String(Math.ceil(Date.now() / 1000) + seconds);

/** Source: https://docs.x.com/x-api/fundamentals/response-codes-and-errors */
const xProblem = (status: number, title: string, detail: string) => ({
  status,
  body: { title, detail, type: 'about:blank', status },
});

const xWire: Wire = {
  labels: ({ method, path, body }) =>
    method === 'POST' && path === '/x/2/tweets' ? labelsIn(body) : [],
  beyondTimeoutMs: usualTimeoutMs,
  refusal: xProblem(400, 'Invalid Request', 'The text is not wanted here.'),
  tooMany: (seconds) => ({
    ...xProblem(429, 'Too Many Requests', 'Too Many Requests'),
    headers: {
      'x-rate-limit-limit': '100',
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': resetIn(seconds),
    },
  }),
  broken: xProblem(500, 'Internal Server Error', 'Something is broken.'),
};

const linkedinWire: Wire = {
  labels: ({ method, path, body }) =>
    method === 'POST' && path === '/linkedin/rest/posts' ? labelsIn(body) : [],
  beyondTimeoutMs: usualTimeoutMs,
  refusal: {
    status: 422,
    body: { status: 422, code: 'UNPROCESSABLE_ENTITY', message: 'The text is not wanted here' },
  },
  tooMany: (seconds) => ({
    status: 429,
    headers: { 'retry-after': String(seconds) },
    body: {
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      message: 'Resource level throttle MEMBER DAY limit for calls to this resource is reached.',
    },
  }),
  broken: {
    status: 500,
    body: { status: 500, code: 'INTERNAL_SERVER_ERROR', message: 'Internal Server Error' },
  },
};

const googleError = (status: number, reason: string, message: string) => ({
  status,
  body: {
    error: {
      code: status,
      message,
      errors: [{ message, domain: 'youtube', reason }],
    },
  },
});

/**
 * The texts arrive with the start of an upload, and the chunk with the last byte makes the video. The session's address
 * links the two.
 */
function youtubeWire(): Wire {
  const sessions = new Map<string, Label[]>();
  return {
    labels: ({ method, path, headers }) =>
      method === 'PUT' && isLastChunk(String(headers['content-range']))
        ? (sessions.get(sessionIn(path)) ?? [])
        : [],
    answered: ({ method, path, body }, { headers: { location } }) => {
      if (method === 'POST' && path.startsWith('/youtube/upload/') && location !== undefined) {
        // The title repeats the first line.
        sessions.set(sessionIn(String(location)), labelsIn(JSON.parse(body).snippet.description));
      }
    },
    // The product's timeout is longer for requests that carry a file.
    beyondTimeoutMs: 202_000,
    refusal: googleError(400, 'invalidVideoMetadata', 'The text is not wanted here.'),
    tooMany: (seconds) => ({
      ...googleError(429, 'rateLimitExceeded', 'The request rate is too high.'),
      headers: { 'retry-after': String(seconds) },
    }),
    broken: googleError(500, 'backendError', 'Backend Error'),
  };
}

const sessionIn = (address: string): string =>
  /upload_id=(?<id>[^&]+)/v.exec(address)?.groups?.['id'] ?? '';

function isLastChunk(range: string): boolean {
  const { last, size } = /^bytes \d+-(?<last>\d+)\/(?<size>\d+)$/v.exec(range)?.groups ?? {};
  return last !== undefined && Number(last) + 1 === Number(size);
}

/**
 * A network that the sandbox plays needs only an entry here.
 *
 * The order is part of the plans: a new network comes last, so that the plans of old seeds differ as little as possible.
 */
export const networkFacts: Readonly<Record<Platform, NetworkFacts>> = {
  mastodon: {
    wire: () => mastodonWire,
    realAccountOf: tokenOf,
    namesItself: true,
    isSequential: true,
    showsVideoAltTexts: true,
    resendsAfterAMinute: true,
  },
  x: {
    wire: () => xWire,
    refreshTokens: 'single-use',
    isSequential: true,
    resendsAfterAMinute: true,
  },
  // Channels with faults of their refreshes are at the sandbox; the others have app passwords.
  bluesky: {
    wire: () => blueskyWire,
    realAccountOf: (request) => subjectOf(tokenOf(request)),
    refreshTokens: 'single-use',
    showsVideoAltTexts: true,
  },
  linkedin: {
    wire: () => linkedinWire,
    refreshTokens: 'reusable',
    joinsThreads: true,
    resendsAfterAMinute: true,
    // A blind account cannot read its posts, so a resend settles them: after a minute, or two if that was too early.
    lostSeconds: 150,
    // At the sandbox the product requests all scopes; with these settings it requests those of the real LinkedIn.
    blindSettings: (url) => ({
      PUNCTUAL_LINKEDIN_CLIENT_ID: 'punctual',
      PUNCTUAL_LINKEDIN_CLIENT_SECRET: 'sandbox',
      PUNCTUAL_LINKEDIN_API_URL: `${url}/linkedin`,
    }),
  },
  youtube: {
    wire: youtubeWire,
    refreshTokens: 'reusable',
    joinsThreads: true,
    needsVideo: true,
    // An upload that is not shown counts as absent after five minutes.
    untoldSeconds: 480,
  },
};

assertFacts(networkFacts, 'test/chaos/network-facts.ts');
