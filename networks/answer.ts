import { Ajv, type SchemaObject } from 'ajv';
import type { LimitScope } from '../domain/channel-error.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';
import { maxRead, withoutSecrets } from './without-secrets.ts';

/** Stops at the first thing that is wrong: a list of all would let a hostile server fill the memory. */
const ajv = new Ajv({ strict: true, allowUnionTypes: true, ownProperties: true });

/** The answer's body as JSON; undefined when it is cut short or no JSON. */
export function jsonOf(response: EgressResponse): unknown {
  if (response.truncated) {
    return undefined;
  }

  try {
    return JSON.parse(response.body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Makes a reader of a network's answers: the checked value, or null when the value has another shape.
 *
 * Schemas name the members that we use and let others pass: networks add members at any time.
 */
export function answerReader<T>(schema: SchemaObject): (value: unknown) => T | null {
  const isValid = ajv.compile<T>(schema);
  return (value) => (isValid(value) ? value : null);
}

const maxLength = 300;

/**
 * A server's own words, fit for a message to the user: one line, at most 300 characters, in quotation marks, and nothing
 * that turns the line around.
 *
 * Empty when there are none among the first 4096. A server may repeat what it was sent, so the secrets of the request
 * are taken out.
 */
export function quote(words: unknown, secrets: readonly string[]): string {
  if (typeof words !== 'string') {
    return '';
  }

  const clean = withoutSecrets(words, secrets)
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ')
    .trim();
  const isMore = clean.length > maxLength || (clean !== '' && words.length > maxRead);
  const short = isMore ? `${clean.slice(0, maxLength)}…` : clean;
  // A cut through a surrogate pair would leave a text that no database takes.
  return short && `"${short.toWellFormed()}"`;
}

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

/** What a server that met its limit does, for messages: "The … server takes no more requests …". */
export const takesNoMore: Readonly<Record<LimitScope, string>> = {
  channel: 'takes no more requests for now',
  server: 'takes no more requests from this service for now, whichever account they are for',
  network: 'takes no more requests from this service for now, whichever account they are for',
};
