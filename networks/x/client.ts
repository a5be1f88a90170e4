import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { type TokenAccess, bearerHeader, openAccess } from '../access-token.ts';
import { NetworkError } from '../network.ts';
import {
  sendNetworkRequest,
  acceptedAfter,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../send-network-request.ts';
import { refusal } from './refusal.ts';

/** Ids of posts, accounts and files are numbers of up to 19 digits, as strings. */
export const idSchema = { type: 'string', pattern: '^[0-9]{1,19}$' };

/** @throws NetworkError `access_lost` when the credentials are not those of an X account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
): TokenAccess => openAccess(server, credentials, purpose, 'X');

/** Sends one request with the token. Returns refusals as responses. */
export const call = (access: TokenAccess, request: NetworkRequest): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      ...request,
      headers: { ...request.headers, ...bearerHeader(access) },
    },
    'X',
  );

/**
 * One request with a checked response.
 *
 * @throws NetworkError for a refusal or an unexpected response.
 */
export async function callAs<T>(
  access: TokenAccess,
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

/** @throws NetworkError for a success status with an unexpected body: the post may exist all the same. */
export function readAs<T>(
  response: EgressResponse,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): T {
  const value = read(jsonOf(response));
  if (value === null) {
    throw new NetworkError('network_unavailable', 'X returned an unexpected response.', {
      accepted: acceptedAfter(purpose, false),
      server: 'answered',
    });
  }
  return value;
}
