import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { networkClient } from '../client.ts';
import {
  bearerHeader,
  sendNetworkRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
  type TokenAccess,
} from '../http.ts';
import { NetworkError } from '../network.ts';
import { dialect } from './refusal.ts';

/** An upload URL. The server chose it, so the egress guard checks its destination. */
export const addressSchema = {
  type: 'string',
  pattern: '^https?://[^/]',
  maxLength: 5000,
} as const;

export type LinkedinAccess = TokenAccess & {
  /** `YYYYMM`. */
  readonly version: string;
};

const client = networkClient(dialect, 'LinkedIn', ({ version }: LinkedinAccess, path) => ({
  // The older API has no versions. Source: https://learn.microsoft.com/linkedin/marketing/versioning
  ...(path.startsWith('/rest/') && { 'linkedin-version': version }),
  'x-restli-protocol-version': '2.0.0',
}));

export const { call, get, ask, getAs, answerOf, remove, removalOf, saidIn, refusal, unreadable } =
  client;

/** @throws NetworkError `access_lost` when the credentials are not those of a LinkedIn account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  version: string,
  purpose: Purpose,
): LinkedinAccess => ({ ...client.accessWith(server, credentials, purpose), version });

/** Whether an upload URL has expired; the upload then starts again. */
export const hasExpired = (response: EgressResponse): boolean =>
  [401, 403, 404, 410].includes(response.status) || saidIn(response).code === 'EXPIRED_UPLOAD_URL';

/** Converts a refused upload of bytes. A forbidden upload URL says nothing about the account. */
export const putRefusal = (
  response: EgressResponse,
  access: LinkedinAccess,
  fileName: string,
): NetworkError =>
  hasExpired(response)
    ? new NetworkError(
        'network_unavailable',
        `LinkedIn no longer accepts the file "${fileName}" at the upload URL that it gave (HTTP ${response.status}).`,
        { accepted: 'no', server: 'answered' },
      )
    : refusal(response, { ...access, purpose: 'upload', fileName });

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
    dialect.name,
  );

function isOurs(url: string, baseUrl: string): boolean {
  const [address, base] = [URL.parse(url), new URL(baseUrl)];
  const site = `.${base.hostname.replace(/^api\./v, '')}`;
  return (
    address?.origin === base.origin ||
    (address?.protocol === 'https:' && address.hostname.endsWith(site))
  );
}
