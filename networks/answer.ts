import { Ajv, type SchemaObject, type ValidateFunction } from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import type { TSchema } from 'typebox';
import type { LimitScope } from '../domain/channel-error.ts';
import { textUpTo, type Value } from '../domain/json-schema.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';

/** Stops at the first error: collecting all would let a hostile server fill the memory. */
const ajv = new Ajv({ strict: true, allowUnionTypes: true, ownProperties: true });

/** In UTF-16 units. As long as the longest token, and longer than any message of a real server. */
const mostSaid = 20_000;

ajv.addKeyword({
  keyword: 'cutAt',
  type: 'string',
  modifying: true,
  errors: false,
  validate: (most: number, text: string, _schema: unknown, place?: DataValidationCxt) => {
    if (place?.parentData && text.length > most) {
      place.parentData[place.parentDataProperty] = text.slice(0, most).toWellFormed();
    }
    return text.length <= most || place?.parentData !== undefined;
  },
});

/**
 * Bounds each text of a schema that has no `maxLength`: a longer one is cut. Ids and addresses have a `maxLength`,
 * which makes the answer unreadable, because a cut one is another one.
 */
function bounded(schema: SchemaObject): SchemaObject {
  const inside = Object.entries(schema).map(([name, value]) => [
    name,
    name === 'properties'
      ? mapValues(value, bounded)
      : ['items', 'additionalProperties'].includes(name) && typeof value === 'object'
        ? bounded(value)
        : value,
  ]);
  const isUnbounded =
    [schema['type']].flat().includes('string') && !('maxLength' in schema || 'const' in schema);
  return { ...Object.fromEntries(inside), ...(isUnbounded && { cutAt: mostSaid }) };
}

const mapValues = <A, B>(values: Readonly<Record<string, A>>, change: (value: A) => B) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

/** A text that is compared with a sent one, which a cut would make another one. As long as an answer may be. */
export const comparedText = textUpTo(2 * 1024 * 1024);

/** An access token. Visible ASCII: nothing else is valid in a header. */
export const tokenSchema = {
  type: 'string',
  pattern: '^[\\x21-\\x7e]+$',
  maxLength: mostSaid,
} as const;

/** In bytes. Errors are read several times. */
const longestError = 64 * 1024;

/** The response body as JSON; undefined when it is truncated, invalid, a very long error or expensive to parse. */
export function jsonOf({ status, truncated, body }: EgressResponse): unknown {
  const isLongError = status >= 400 && body.length > longestError;
  if (truncated || isLongError || isExpensive(body)) {
    return undefined;
  }

  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Several times the values of a page of 40 statuses or 100 records. */
const [mostLevels, mostValues] = [64, 30_000];
const [quotationMark, comma, escape, opening, closing] = Buffer.from('",\\{}');

/** Two megabytes of brackets take the parser 400 ms, in which the process does nothing for other tenants. */
function isExpensive(body: Buffer): boolean {
  let isText = false;
  let level = 0;
  let values = 0;
  for (let at = 0; at < body.length && level <= mostLevels && values <= mostValues; at += 1) {
    const byte = body[at] ?? 0;
    const bracket = byte | 0x20; // `[` as `{`, and `]` as `}`.
    if (byte === escape) {
      at += 1;
    } else if (byte === quotationMark) {
      isText = !isText;
    } else if (!isText && (byte === comma || bracket === opening)) {
      values += 1;
      level += byte === comma ? 0 : 1;
    } else if (!isText && bracket === closing) {
      level -= 1;
    }
  }
  return level > mostLevels || values > mostValues;
}

/**
 * Makes a reader of a network's responses, which returns the checked value, or null when it has another shape.
 *
 * Schemas name only the members that we use, because networks add members at any time. Every text is bounded.
 */
export function answerReader<S extends TSchema>(schema: S): (value: unknown) => Value<S> | null;
export function answerReader<T>(schema: SchemaObject): (value: unknown) => T | null;
export function answerReader<T>(schema: SchemaObject): (value: unknown) => T | null {
  let isValid: ValidateFunction<T> | undefined;
  return (value) => {
    isValid ??= ajv.compile<T>(bounded(schema));
    return isValid(value) ? value : null;
  };
}

const maxLength = 300;

/**
 * Quotes a server's message for the user: one line of at most 300 characters, without those that change the direction
 * of the text. A server may repeat its input, so the request's secrets are removed.
 */
export function quote(text: unknown, secrets: readonly string[]): string {
  if (typeof text !== 'string') {
    return '';
  }

  const clean = redactSecrets(text, secrets)
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ')
    .trim();
  const isMore = clean.length > maxLength || (clean !== '' && text.length > maxRead);
  const short = isMore ? `${clean.slice(0, maxLength)}…` : clean;
  // The cut may split a surrogate pair, which PostgreSQL does not store.
  return short && `"${short.toWellFormed()}"`;
}

/** A channel gives up 24 h after its time, so a longer wait would only hide a server's mistake. */
const maxWaitMs = 24 * 60 * 60 * 1000;
/** A smaller number of seconds is a wait, a larger one an instant (as an instant it is in 2001). */
const firstInstantSeconds = 1e9;

/**
 * When a network accepts requests again, in milliseconds since 1970: undefined when it does not say, at most in a day.
 *
 * `Retry-After` counts before the reset header, which Mastodon writes as an ISO 8601 date and Bluesky as seconds since
 * 1970, and which counts only with status 429, because servers send it with every response.
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

  // `Date.parse` alone accepts almost anything, including `-5`.
  const isDate = /^\d{4}-\d{2}-\d{2}T|^[A-Z][a-z]{2}, \d{2} /.test(value);
  const atMs = isDate ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** The middle of a message about a rate limit: "The … server takes no more requests …". */
export const limitReached: Readonly<Record<LimitScope, string>> = {
  channel: 'takes no more requests for now',
  server: 'takes no more requests from this service for now, whichever account they are for',
  network: 'takes no more requests from this service for now, whichever account they are for',
};

/** How much of a server's message is read, in UTF-16 units. It may have megabytes. */
const maxRead = 4096;

/** The beginning of a server's message, with `…` in place of each secret. Secrets are replaced before the cut. */
function redactSecrets(message: string, secrets: readonly string[]): string {
  const spellings = [...new Set(secrets.flatMap(spellingsOf))].toSorted(
    (a, b) => b.length - a.length,
  );
  const longest = spellings[0]?.length ?? 0;
  let text = message.slice(0, maxRead + longest);
  const isCut = text.length < message.length;
  for (const spelling of spellings) {
    text = text.replaceAll(spelling, '…');
  }
  // The end may be the beginning of a secret.
  return isCut ? text.slice(0, Math.max(0, text.length - longest)) : text;
}

/** A secret as forms, URLs and JSON contain it: a server may repeat the raw request. */
function spellingsOf(secret: string): string[] {
  if (secret === '') {
    return [];
  }

  const text = secret.toWellFormed();
  const inForm = new URLSearchParams([['', text]]).toString().slice(1);
  const encoded = [encodeURIComponent(text), inForm];
  const inJson = JSON.stringify(text).slice(1, -1);
  return [
    secret,
    ...encoded,
    ...encoded.map((spelling) =>
      spelling.replaceAll(/%[0-9A-F]{2}/gv, (byte) => byte.toLowerCase()),
    ),
    inJson,
    inJson.replaceAll('/', String.raw`\/`), // PHP escapes slashes.
  ];
}
