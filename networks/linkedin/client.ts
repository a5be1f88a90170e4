import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { type Access as TokenAccess, bearer, openAccess } from '../access-token.ts';
import {
  sendRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../send-request.ts';
import { refusal, unreadable } from './refusal.ts';

const serverName = 'LinkedIn';

/** An address for an upload. Whoever answered chose it; egress judges where it leads. */
export const addressSchema = { type: 'string', pattern: '^https?://[^/]', maxLength: 5000 };

/** LinkedIn's API, the token that opens it, and the version of it that is spoken. */
export type Access = TokenAccess & {
  /** `YYYYMM`. */
  readonly version: string;
};

/** @throws NetworkError `access_lost` when the credentials are not those of a LinkedIn account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  version: string,
  purpose: Purpose,
): Access => ({ ...openAccess(server, credentials, purpose, 'LinkedIn'), version });

/**
 * One request of the API. Hands back refusals as they are.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/versioning
 *
 * @param isVersioned False for the older API, which has no versions.
 */
export const call = (
  access: Access,
  { headers, ...request }: NetworkRequest,
  { isVersioned = true } = {},
): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      ...request,
      headers: {
        ...bearer(access),
        ...(isVersioned && { 'linkedin-version': access.version }),
        'x-restli-protocol-version': '2.0.0',
        ...headers,
      },
    },
    serverName,
  );

/** One `GET` whose answer must have a shape. @throws NetworkError when LinkedIn refuses, or its answer does not read. */
export async function getAs<T>(
  access: Access,
  path: string,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, { method: 'GET', path, purpose });
  return answerAs(access, response, purpose, read);
}

/** The content of an answer. @throws NetworkError when it is a refusal, or does not read. */
export function answerAs<T>(
  access: Access,
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

/**
 * One `PUT` of bytes to an address that LinkedIn chose. The token goes along only where LinkedIn itself is: the address
 * is part of an answer.
 */
export const putBytes = (
  access: Access,
  url: string,
  body: NonNullable<NetworkRequest['file']>['body'],
  { withToken }: { readonly withToken: boolean },
): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      method: 'PUT',
      path: url,
      headers: withToken && isOurs(url, access.server.baseUrl) ? bearer(access) : {},
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
