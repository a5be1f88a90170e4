import type { Json } from '../domain/json-schema.ts';
import { answerReader } from './answer.ts';
import { NetworkError } from './network.ts';
import { acceptedAfter, type Purpose, type ServerAccess } from './send-network-request.ts';

/** A server, and the access token for an account there. */
export type TokenAccess = { readonly server: ServerAccess; readonly accessToken: string };

/** Visible ASCII: nothing else is allowed in a header. */
const readCredentials = answerReader<{ readonly accessToken: string }>({
  type: 'object',
  required: ['accessToken'],
  properties: { accessToken: { type: 'string', pattern: '^[\\x21-\\x7e]+$' } },
});

/**
 * Reads the credentials of an account that uses an access token.
 *
 * @param of The issuer, for the message: `X`, `a Mastodon server`.
 * @throws NetworkError `access_lost` when there is no token that is valid in a header.
 */
export function openAccess(
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
  of: string,
): TokenAccess {
  const known = readCredentials(credentials);
  if (!known) {
    throw new NetworkError(
      'access_lost',
      `The stored credentials have no valid access token of ${of}.`,
      {
        accepted: acceptedAfter(purpose, true),
      },
    );
  }

  return { server, accessToken: known.accessToken };
}

/** The header that carries the token. */
export const bearerHeader = ({ accessToken }: Pick<TokenAccess, 'accessToken'>) => ({
  authorization: `Bearer ${accessToken}`,
});
