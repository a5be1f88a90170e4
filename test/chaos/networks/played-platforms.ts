import type { SandboxPlatform } from '../plan/platforms.ts';
import { labelsIn, type Label } from '../plan/texts.ts';
import { usualTimeoutMs, type LinePlatform } from './line-platform.ts';
import { blueskyLine } from './real-platforms.ts';

type Wire = Omit<LinePlatform, 'platform' | 'accountOf'>;

/** A line to a network that the sandbox plays. Each account has a server of its own, named like the line. */
export const playedLine = (platform: SandboxPlatform, account: string): LinePlatform => ({
  ...wires[platform](),
  platform,
  accountOf: () => account,
});

const wires: Readonly<Record<SandboxPlatform, () => Wire>> = {
  x: () => xWire,
  linkedin: () => linkedinWire,
  youtube: youtubeWire,
  bluesky: () => blueskyLine,
};

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
