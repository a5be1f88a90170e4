import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { type Access, bearer, openAccess } from '../access-token.ts';
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

/** @throws NetworkError `access_lost` when the credentials are not those of an X account. */
export const accessWith = (server: ServerAccess, credentials: Json, purpose: Purpose): Access =>
  openAccess(server, credentials, purpose, 'X');

/** One request with the token. Hands back refusals as they are. */
export const call = (access: Access, request: NetworkRequest): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      ...request,
      headers: { ...request.headers, ...bearer(access) },
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
