import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { ask, takenAfter, type Purpose, type Question, type Way } from '../ask.ts';
import { NetworkError, type Json } from '../network.ts';
import { refusal, unreadable } from './errors.ts';

/** Visible ASCII: anything else cannot stand in a header. */
const token = { type: 'string', pattern: '^[\\x21-\\x7e]+$' };

/** A way to the server and the token that opens it. */
export type Access = { readonly way: Way; readonly accessToken: string };

const readCredentials = answerReader<{ readonly accessToken: string }>({
  type: 'object',
  required: ['accessToken'],
  properties: { accessToken: token },
});

/** @throws NetworkError `access_lost` when the credentials are not those of a Mastodon account. */
export function accessWith(way: Way, credentials: Json, purpose: Purpose): Access {
  const known = readCredentials(credentials);
  if (!known) {
    throw new NetworkError('access_lost', 'This is no access token of a Mastodon server.', {
      taken: takenAfter(purpose, true),
    });
  }

  return { way, accessToken: known.accessToken };
}

/** One `GET` with the token. Hands back refusals as they are. */
export const get = (access: Access, path: string, purpose: Purpose): Promise<EgressResponse> =>
  ask(access.way, { method: 'GET', path, headers: bearer(access), purpose }, 'The Mastodon server');

/**
 * One `GET` whose answer must have a shape.
 *
 * @throws NetworkError when the server refuses, or its answer does not read.
 */
export async function getAs<T>(
  access: Access,
  path: string,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await get(access, path, purpose);
  if (response.status !== 200) {
    throw refusal(response, { purpose, accessToken: access.accessToken });
  }

  const value = read(jsonOf(response));
  if (value === null) {
    throw unreadable(purpose);
  }
  return value;
}

/** One `POST` that creates something, with the key that a server may use to make it only once. */
export const create = (
  access: Access,
  path: string,
  idempotencyKey: string,
  body: unknown,
): Promise<EgressResponse> =>
  ask(
    access.way,
    {
      method: 'POST',
      path,
      headers: { ...bearer(access), 'idempotency-key': idempotencyKey },
      body,
      purpose: 'create',
    },
    'The Mastodon server',
  );

/** One `POST` that brings a file and creates no post. */
export const sendFile = (
  access: Access,
  path: string,
  file: NonNullable<Question['file']>,
): Promise<EgressResponse> =>
  ask(
    access.way,
    { method: 'POST', path, headers: bearer(access), file, purpose: 'upload' },
    'The Mastodon server',
  );

const bearer = ({ accessToken }: Access) => ({ authorization: `Bearer ${accessToken}` });
