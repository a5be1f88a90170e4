import type { Json } from '../domain/json-schema.ts';
import { answerReader } from './answer.ts';
import { NetworkError } from './network.ts';
import { takenAfter, type Purpose, type ServerAccess } from './send-request.ts';

/** A server, and the token that opens it for an account. */
export type Access = { readonly server: ServerAccess; readonly accessToken: string };

/** Visible ASCII: anything else cannot stand in a header. */
const readCredentials = answerReader<{ readonly accessToken: string }>({
  type: 'object',
  required: ['accessToken'],
  properties: { accessToken: { type: 'string', pattern: '^[\\x21-\\x7e]+$' } },
});

/**
 * Reads the credentials of an account that is opened by an access token.
 *
 * @param of Whose token it should be, for the message: `X`, `a Mastodon server`.
 * @throws NetworkError `access_lost` when there is no token that could stand in a header.
 */
export function openAccess(
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
  of: string,
): Access {
  const known = readCredentials(credentials);
  if (!known) {
    throw new NetworkError('access_lost', `This is no access token of ${of}.`, {
      taken: takenAfter(purpose, true),
    });
  }

  return { server, accessToken: known.accessToken };
}

/** The header that carries the token. */
export const bearer = ({ accessToken }: Pick<Access, 'accessToken'>) => ({
  authorization: `Bearer ${accessToken}`,
});
