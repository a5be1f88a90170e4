import { answerReader, jsonOf } from '../answer.ts';
import type { OauthContext } from '../oauth.ts';
import { sendRequest } from '../send-request.ts';
import { serverName } from './client.ts';

/** What a server says of its OAuth. */
export type Announced = {
  readonly usesPkce: boolean;
  /** Null where its answers are not known to say it. */
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
 * Reads what Mastodon tells since version 4.3 (RFC 8414). A server without it, as GoToSocial, gets the plain code flow.
 *
 * @throws NetworkError `network_unavailable` when no answer came.
 */
export async function readAnnounced(context: OauthContext, root: string): Promise<Announced> {
  const { http, signal } = context;
  const response = await sendRequest(
    { http, baseUrl: root, ...(signal && { signal }) },
    { method: 'GET', path: '/.well-known/oauth-authorization-server', purpose: 'prepare' },
    serverName,
  );
  const told = response.status === 200 ? readMetadata(jsonOf(response)) : null;
  // Section 3.3: a document about another issuer is not used.
  if (!told || plain(told.issuer) !== plain(root)) {
    return { usesPkce: false, issuer: null };
  }

  return {
    usesPkce: told.code_challenge_methods_supported?.includes('S256') ?? false,
    issuer: told.authorization_response_iss_parameter_supported ? told.issuer : null,
  };
}

/** Mastodon has a slash at the end of its own. */
const plain = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/v, '');
