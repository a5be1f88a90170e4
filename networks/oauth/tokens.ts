import { answerReader } from '../answer.ts';
import type { Grant } from '../oauth.ts';

/** What a token endpoint handed out. */
export type Tokens = {
  readonly accessToken: string;
  readonly accessForMs: number | null;
  /** Null where the answer has none. */
  readonly refreshToken: string | null;
  readonly refreshForMs: number | null;
  /** Those that were granted; null where the answer does not say, which means all that were asked for. */
  readonly scopes: readonly string[] | null;
};

/** Of an answer. Others are dropped, an ID token too: who signed in is read from the network's API. */
const members = new Set([
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
  'refresh_token_expires_in',
  'scope',
]);

/**
 * Rewrites what servers send otherwise than RFC 6749 (section 5.1) says: LinkedIn leaves `token_type` out, others send
 * null for what there is not. Null for what is no answer, or has an object or a list where a token or a number is due.
 */
export function conforming(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    return null;
  }

  const told = Object.entries(answer).filter(
    ([name, value]) => members.has(name) && value !== null && value !== '',
  );
  return told.some(([, value]) => typeof value === 'object')
    ? null
    : { token_type: 'bearer', ...Object.fromEntries(told) };
}

type TokenAnswer = {
  readonly access_token: string;
  readonly expires_in?: unknown;
  readonly refresh_token?: string;
  readonly refresh_token_expires_in?: unknown;
  readonly scope?: string;
};

/** Visible ASCII: it has to stand in a header. */
export const tokenSchema = { type: 'string', pattern: '^[\\x21-\\x7e]+$', maxLength: 20_000 };
const readAnswer = answerReader<TokenAnswer>({
  type: 'object',
  required: ['access_token', 'token_type'],
  properties: {
    access_token: tokenSchema,
    token_type: { const: 'bearer' },
    refresh_token: tokenSchema,
    scope: { type: 'string' },
  },
});

/** Reads a token endpoint's answer; null when it is none, or its token is of a kind that is not known here. */
export function readTokens(value: unknown): Tokens | null {
  const answer = readAnswer(value);
  return (
    answer && {
      accessToken: answer.access_token,
      accessForMs: durationMs(answer.expires_in),
      refreshToken: answer.refresh_token ?? null,
      refreshForMs: durationMs(answer.refresh_token_expires_in),
      // Spaces part them; LinkedIn has commas.
      scopes: answer.scope?.split(/[\s,]+/u).filter((scope) => scope !== '') ?? null,
    }
  );
}

/** Longer is for ever, and might be no date any more. */
export const longestSeconds = 10 * 365 * 86_400;

function durationMs(seconds: unknown): number | null {
  const known = typeof seconds === 'number' || typeof seconds === 'string' ? Number(seconds) : -1;
  return known >= 0 && known <= longestSeconds ? Math.floor(known * 1000) : null;
}

/**
 * The grant that tokens make.
 *
 * @param before The grant that bought them. Its refresh token stays where no other one came.
 */
export function grantOf(tokens: Tokens, nowMs: number, before?: Grant): Grant {
  const accessEndsAtMs = tokens.accessForMs === null ? null : nowMs + tokens.accessForMs;
  const refreshToken = tokens.refreshToken ?? before?.refreshToken ?? null;
  const isSame = refreshToken === before?.refreshToken;
  const kept = isSame ? (before?.endsAtMs ?? null) : null;
  const refreshEndsAtMs = tokens.refreshForMs === null ? kept : nowMs + tokens.refreshForMs;
  return {
    accessToken: tokens.accessToken,
    accessEndsAtMs,
    refreshToken,
    endsAtMs: refreshToken === null ? accessEndsAtMs : refreshEndsAtMs,
  };
}
