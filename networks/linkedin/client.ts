import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import {
  type TokenAccess,
  bearerHeader,
  openAccess,
  sendNetworkRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../http.ts';
import type { Removal } from '../network.ts';
import { refusal, refusedBy, unreadable } from './refusal.ts';

const serverName = 'LinkedIn';

/** An upload URL. The server chose it, so the egress guard checks its destination. */
export const addressSchema = { type: 'string', pattern: '^https?://[^/]', maxLength: 5000 };

/** LinkedIn's API, an access token, and the API version to use. */
export type LinkedinAccess = TokenAccess & {
  /** `YYYYMM`. */
  readonly version: string;
};

/** @throws NetworkError `access_lost` when the credentials are not those of a LinkedIn account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  version: string,
  purpose: Purpose,
): LinkedinAccess => ({ ...openAccess(server, credentials, purpose, 'LinkedIn'), version });

/**
 * Sends one API request. Returns refusals as responses.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/versioning
 *
 * @param isVersioned False for the older API, which has no versions.
 */
export const call = (
  access: LinkedinAccess,
  { headers, ...request }: NetworkRequest,
  { isVersioned = true } = {},
): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      ...request,
      headers: {
        ...bearerHeader(access),
        ...(isVersioned && { 'linkedin-version': access.version }),
        'x-restli-protocol-version': '2.0.0',
        ...headers,
      },
    },
    serverName,
  );

/** One `GET` with a checked response. @throws NetworkError for a refusal or an unexpected response. */
export async function getAs<T>(
  access: LinkedinAccess,
  path: string,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, { method: 'GET', path, purpose });
  return answerAs(access, response, purpose, read);
}

/** The content of a response. @throws NetworkError for a refusal or an unexpected response. */
export function answerAs<T>(
  access: LinkedinAccess,
  response: EgressResponse,
  purpose: Purpose,
  read: (value: unknown) => T | null,
  fileName?: string,
): T {
  if (response.status !== 200) {
    throw refusal(response, { ...access, purpose, fileName });
  }

  const value = read(jsonOf(response));
  if (value === null) {
    throw unreadable(purpose);
  }
  return value;
}

/** The result of a `DELETE`. @throws NetworkError for a refusal. */
export function removalOf(
  access: LinkedinAccess,
  response: EgressResponse,
  needs?: string,
): Removal {
  // A 404 of another server, such as a proxy, has no body of LinkedIn's.
  if (response.status === 404 && refusedBy(response).message !== undefined) {
    return 'not_found';
  }

  if (response.status !== 200 && response.status !== 204) {
    throw refusal(response, { ...access, purpose: 'remove', ...(needs && { needs }) });
  }

  return 'removed';
}

/**
 * One `PUT` of bytes to a URL from a LinkedIn response. The token is sent only to LinkedIn's own hosts, because the URL
 * is untrusted.
 */
export const putBytes = (
  access: LinkedinAccess,
  url: string,
  body: NonNullable<NetworkRequest['file']>['body'],
  { withToken }: { readonly withToken: boolean },
): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      method: 'PUT',
      path: url,
      headers: withToken && isOurs(url, access.server.baseUrl) ? bearerHeader(access) : {},
      file: { type: 'application/octet-stream', body },
      purpose: 'upload',
    },
    serverName,
  );

function isOurs(url: string, baseUrl: string): boolean {
  const [address, base] = [URL.parse(url), new URL(baseUrl)];
  const site = `.${base.hostname.replace(/^api\./v, '')}`;
  return (
    address?.origin === base.origin ||
    (address?.protocol === 'https:' && address.hostname.endsWith(site))
  );
}
