import { answerReader, jsonOf } from '../answer.ts';
import type { OauthContext } from '../oauth/contract.ts';
import { sendNetworkRequest } from '../send-network-request.ts';
import { serverName } from './client.ts';

/** A server's OAuth metadata. */
export type ServerMetadata = {
  readonly usesPkce: boolean;
  /** Null when its responses may not contain the issuer. */
  readonly issuer: string | null;
};

const readMetadata = answerReader<{
  readonly issuer: string;
  readonly code_challenge_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
}>({
  type: 'object',
  required: ['issuer'],
  properties: {
    issuer: { type: 'string', maxLength: 2000 },
    code_challenge_methods_supported: { type: 'array', maxItems: 20, items: { type: 'string' } },
    authorization_response_iss_parameter_supported: { type: 'boolean' },
  },
});

/**
 * Reads the metadata of RFC 8414, which Mastodon has since version 4.3. A server without them, such as GoToSocial, gets
 * the plain code flow.
 *
 * @throws NetworkError `network_unavailable` when no response came.
 */
export async function readServerMetadata(
  context: OauthContext,
  root: string,
): Promise<ServerMetadata> {
  const { http, signal } = context;
  const response = await sendNetworkRequest(
    { http, baseUrl: root, ...(signal && { signal }) },
    { method: 'GET', path: '/.well-known/oauth-authorization-server', purpose: 'prepare' },
    serverName,
  );
  const metadata = response.status === 200 ? readMetadata(jsonOf(response)) : null;
  // Section 3.3: metadata of another issuer must not be used.
  if (!metadata || plain(metadata.issuer) !== plain(root)) {
    return { usesPkce: false, issuer: null };
  }

  return {
    usesPkce: metadata.code_challenge_methods_supported?.includes('S256') ?? false,
    issuer: metadata.authorization_response_iss_parameter_supported ? metadata.issuer : null,
  };
}

/** Mastodon's issuer ends with a slash. */
const plain = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/v, '');
