import type { TSchema } from 'typebox';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { headerText } from '../../runtime/bytes.ts';
import { fingerprint, type RequestKey } from '../../services/idempotency.ts';
import type { HeaderSpec, Request } from './route.ts';

/** The request header of a call that creates something. */
export const idempotencyHeader = {
  'Idempotency-Key': {
    description:
      'The same key with the same request creates one object, however often it is sent. Kept as long as the post, or 24 hours for any other object.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
} as const satisfies Readonly<Record<string, HeaderSpec>>;

/** The header of an answer to a repeated request. */
export const replayedHeader = {
  'Idempotency-Replayed': {
    description: 'This call stored nothing.',
    schema: { type: 'string', const: 'true' },
  },
} as const satisfies Readonly<Record<string, HeaderSpec>>;

/** The idempotency key of a call other than `POST /posts`, with the fingerprint of `call` and request. */
export function requestKey(
  header: Request['header'],
  call: string,
  request: unknown,
): RequestKey | undefined {
  const key = idempotencyKey(header);
  return key === undefined ? undefined : { key, print: fingerprint([call, request]) };
}

/** Ignored, they would let a repeated call create a second post. */
const misspeltHeaders = ['x-idempotency-key', 'idempotency_key', 'idempotent-key'];

/** The idempotency key from the header or the body. Both may be sent if they are equal. */
export function idempotencyKey(header: Request['header'], fromBody?: string): string | undefined {
  const sent = header('idempotency-key');
  const misspelt = misspeltHeaders.find((name) => header(name) !== undefined);
  if (sent === undefined && fromBody === undefined && misspelt !== undefined) {
    const message = `There is no header ${misspelt}. Did you mean Idempotency-Key?`;
    throw new AppError('invalid_request', message);
  }

  const fromHeader = sent === undefined ? undefined : headerText(sent);
  if (fromHeader !== undefined && fromBody !== undefined && fromHeader !== fromBody) {
    const message =
      'The Idempotency-Key header and idempotency_key in the body differ. Send one of them.';
    throw new AppError('invalid_request', message);
  }

  const key = fromHeader ?? fromBody;
  if (key !== undefined && (key === '' || key.length > 255 || !isText(key))) {
    const message =
      'must have 1 to 255 characters, without NUL and without half of a surrogate pair';
    const details = [{ path: '/idempotency_key', message }];
    const where = fromHeader === undefined ? { details } : {};
    throw new AppError('invalid_request', `An idempotency key ${message}.`, where);
  }

  return key;
}

/** Answers of a call that creates an object once for each idempotency key. @param headers Of the first. */
export const answersOnce = <const S extends TSchema>(
  schema: S,
  created: string,
  repeated: string,
  headers: Readonly<Record<string, HeaderSpec>> = {},
) => ({
  201: { description: created, schema, headers },
  200: { description: repeated, schema, headers: replayedHeader },
});

/** The answer of a call that created `body`, or that repeats an earlier one. @param location Its path. */
export const createdAnswer = <Body extends object>(
  body: Body,
  replayed: boolean,
  location?: string,
) =>
  replayed
    ? ({ status: 200, body, headers: { 'Idempotency-Replayed': 'true' } } as const)
    : ({
        status: 201,
        body,
        headers: location === undefined ? {} : { Location: location },
      } as const);
