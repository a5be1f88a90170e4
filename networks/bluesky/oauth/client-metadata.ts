import {
  buildAtprotoLoopbackClientMetadata,
  type OAuthClientMetadataInput,
} from '@atproto/oauth-client-node';
import { metadataPath } from './metadata-path.ts';
import type { Derive, SigningJwk } from './signing-key.ts';
import { publicJwk, signingKey } from './signing-key.ts';

/**
 * The scopes for publishing. `transition:generic` has the rights of an app password: no messages, no account settings.
 */
const scope = 'atproto transition:generic';

/** The OAuth client of this service. The metadata are the document at the URL that is our client id. */
export type OauthClient = {
  readonly metadata: OAuthClientMetadataInput;
  /** Signs our requests; null for a public client. */
  readonly key: SigningJwk | null;
};

/**
 * With an https address this service is a confidential client, which signs its requests: a server keeps its sessions
 * for two years, and ends them after three months without a refresh. A public client's session ends after two weeks in
 * any case, and its owner has to connect again.
 *
 * A server cannot fetch a document from a loopback address, so there the client id contains the metadata, and the
 * client is always public.
 *
 * Sources: https://atproto.com/specs/oauth, `oauth-constants.js` of @atproto/oauth-provider.
 *
 * @param redirectUri Where browsers return to.
 * @returns null when the address is neither https nor loopback.
 */
export function oauthClient(
  publicUrl: string,
  redirectUri: string,
  derive: Derive,
): OauthClient | null {
  if (publicUrl.startsWith('https://')) {
    const key = signingKey(derive);
    return { metadata: confidential(publicUrl, redirectUri, key), key };
  }

  // The browser returns to the host where the connection began, and RFC 8252 does not accept `localhost`.
  return /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/|$)/v.test(redirectUri)
    ? { metadata: loopback(redirectUri), key: null }
    : null;
}

/**
 * The client that a grant was given to. After a change of the public URL it differs from the current one, and a server
 * ends a session that two clients use.
 */
export function oauthClientOf(
  clientId: string,
  redirectUri: string,
  derive: Derive,
): OauthClient | null {
  return clientId.endsWith(metadataPath)
    ? oauthClient(clientId.slice(0, -metadataPath.length), redirectUri, derive)
    : oauthClient('', redirectUri, derive);
}

const confidential = (
  publicUrl: string,
  redirectUri: string,
  key: SigningJwk,
): OAuthClientMetadataInput => ({
  client_id: `${publicUrl}${metadataPath}` as `https://${string}/${string}`,
  client_name: 'Punctual',
  client_uri: publicUrl as `https://${string}`,
  redirect_uris: [redirectUri as `https://${string}`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  scope,
  application_type: 'web',
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_signing_alg: 'ES256',
  dpop_bound_access_tokens: true,
  jwks: { keys: [publicJwk(key)] },
});

const loopback = (redirectUri: string): OAuthClientMetadataInput =>
  buildAtprotoLoopbackClientMetadata({
    scope,
    redirect_uris: [redirectUri as `http://127.0.0.1/${string}`],
  });
