import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import {
  sendRequest,
  takenAfter,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../send-request.ts';
import { refusal } from './refusal.ts';

/** Ids of posts, accounts and files are numbers of up to 19 digits, written as text. */
export const idSchema = { type: 'string', pattern: '^[0-9]{1,19}$' };

/** X's API, and the token that opens it for an account. */
export type Access = { readonly server: ServerAccess; readonly accessToken: string };

/** Visible ASCII: anything else cannot stand in a header. */
const readCredentials = answerReader<{ readonly accessToken: string }>({
  type: 'object',
  required: ['accessToken'],
  properties: { accessToken: { type: 'string', pattern: '^[\\x21-\\x7e]+$' } },
});

/** @throws NetworkError `access_lost` when the credentials are not those of an X account. */
export function accessWith(server: ServerAccess, credentials: Json, purpose: Purpose): Access {
  const known = readCredentials(credentials);
  if (!known) {
    const taken = takenAfter(purpose, true);
    throw new NetworkError('access_lost', 'This is no access token of X.', { taken });
  }

  return { server, accessToken: known.accessToken };
}

/** One request with the token. Hands back refusals as they are. */
export const call = (access: Access, request: NetworkRequest): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${access.accessToken}` },
    },
    'X',
  );

/**
 * One request whose answer must have a shape.
 *
 * @throws NetworkError when X refuses, or its answer does not read.
 */
export async function callAs<T>(
  access: Access,
  request: NetworkRequest,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, request);
  if (!isSuccess(response)) {
    throw refusal(response, { purpose: request.purpose, accessToken: access.accessToken });
  }

  return readAs(response, request.purpose, read);
}

export const isSuccess = ({ status }: EgressResponse): boolean => status >= 200 && status < 300;

/** @throws NetworkError for an answer of success that is no answer of X's: the post may be there all the same. */
export function readAs<T>(
  response: EgressResponse,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): T {
  const value = read(jsonOf(response));
  if (value === null) {
    throw new NetworkError('network_unavailable', 'X gave an answer that does not read as one.', {
      taken: takenAfter(purpose, false),
      server: 'answered',
    });
  }
  return value;
}
