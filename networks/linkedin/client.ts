import type { StreamedBody } from '../../runtime/egress/egress.ts';
import { networkClient, type Access } from '../client.ts';
import { NetworkError } from '../network.ts';
import { dialect } from './refusal.ts';

/** An upload URL. The server chose it, so the egress guard checks its destination. */
export const addressSchema = {
  type: 'string',
  pattern: '^https?://[^/]',
  maxLength: 5000,
} as const;

export type LinkedinAccess = Access & {
  readonly version: string;
};

export const { call, get, ask, getAs, remove, refusal, unreadable } = networkClient(
  dialect,
  'LinkedIn',
  ({ version }: LinkedinAccess, path) => ({
    // The older API has no versions. Source: https://learn.microsoft.com/linkedin/marketing/versioning
    ...(path.startsWith('/rest/') && { 'linkedin-version': version }),
    ...(path.startsWith('/') && { 'x-restli-protocol-version': '2.0.0' }),
  }),
);

export type LinkedinAnswer = Awaited<ReturnType<typeof call>>;

/** Whether an upload URL has expired; the upload then starts again. */
export const hasExpired = (answer: LinkedinAnswer): boolean =>
  [401, 403, 404, 410].includes(answer.status) || answer.said().code === 'EXPIRED_UPLOAD_URL';

/**
 * One `PUT` of bytes to a URL from a LinkedIn response. The token is sent only to LinkedIn's own hosts, because the URL
 * is untrusted.
 */
export async function putBytes(
  access: LinkedinAccess,
  url: string,
  { body, fileName }: { readonly body: StreamedBody; readonly fileName: string },
  { withToken }: { readonly withToken: boolean },
): Promise<LinkedinAnswer> {
  return call(access, {
    method: 'PUT',
    path: url,
    file: { type: 'application/octet-stream', body },
    purpose: 'upload',
    fileName,
    isPublic: !withToken || !isOurs(url, access.baseUrl),
  });
}

/** Converts a refused upload of bytes. A forbidden upload URL says nothing about the account. */
export const putRefusal = (answer: LinkedinAnswer, fileName: string): NetworkError =>
  hasExpired(answer)
    ? new NetworkError(
        'network_unavailable',
        `LinkedIn no longer accepts the file "${fileName}" at the upload URL that it gave (HTTP ${answer.status}).`,
        { accepted: 'no', server: 'answered' },
      )
    : answer.refusal();

function isOurs(url: string, baseUrl: string): boolean {
  const [address, base] = [URL.parse(url), new URL(baseUrl)];
  const site = `.${base.hostname.replace(/^api\./v, '')}`;
  return (
    address?.origin === base.origin ||
    (address?.protocol === 'https:' && address.hostname.endsWith(site))
  );
}
