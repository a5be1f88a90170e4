import { anything, having, text } from '../../domain/json-schema.ts';
import { answerReader, tokenSchema } from '../answer.ts';
import type { Grant } from './contract.ts';

export type Tokens = {
  readonly accessToken: string;
  readonly accessForMs: number | null;
  readonly refreshToken: string | null;
  readonly refreshForMs: number | null;
  /** The granted scopes; null when the response does not say, which means all requested ones. */
  readonly scopes: readonly string[] | null;
};

/**
 * The used members of a response. Others are dropped, including ID tokens: the account is read from the network's API.
 */
const members = new Set([
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
  'refresh_token_expires_in',
  'scope',
]);

/**
 * Corrects deviations from RFC 6749 (section 5.1): LinkedIn omits `token_type`, others send null for absent members.
 * Returns null for anything but an object, or when a member is an object or a list.
 */
export function conforming(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    return null;
  }

  const known = Object.entries(answer).filter(
    ([name, value]) => members.has(name) && value !== null && value !== '',
  );
  return known.some(([, value]) => typeof value === 'object')
    ? null
    : { token_type: 'bearer', ...Object.fromEntries(known) };
}

const readAnswer = answerReader(
  having(
    { access_token: tokenSchema, token_type: { const: 'bearer' } },
    {
      expires_in: anything,
      refresh_token: tokenSchema,
      refresh_token_expires_in: anything,
      scope: text,
    },
  ),
);

/** Reads a token endpoint's response; null when it is invalid, or the token type is unknown. */
export function readTokens(value: unknown): Tokens | null {
  const answer = readAnswer(value);
  return (
    answer && {
      accessToken: answer.access_token,
      accessForMs: durationMs(answer.expires_in),
      refreshToken: answer.refresh_token ?? null,
      refreshForMs: durationMs(answer.refresh_token_expires_in),
      // The separator is a space; LinkedIn uses commas.
      scopes: answer.scope?.split(/[\s,]+/u).filter((scope) => scope !== '') ?? null,
    }
  );
}

/** A longer lifetime counts as unlimited: it might exceed the range of dates. */
export const longestSeconds = 10 * 365 * 86_400;

function durationMs(seconds: unknown): number | null {
  const known = typeof seconds === 'number' || typeof seconds === 'string' ? Number(seconds) : -1;
  return known >= 0 && known <= longestSeconds ? Math.floor(known * 1000) : null;
}

/**
 * Makes a grant from tokens.
 *
 * @param before The refreshed grant. Its refresh token stays if the response has no new one.
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
