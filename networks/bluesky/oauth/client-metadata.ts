import {
  buildAtprotoLoopbackClientMetadata,
  type OAuthClientMetadataInput,
} from '@atproto/oauth-client-node';
import { metadataPath } from './metadata-path.ts';
import type { Derive, SigningJwk } from './signing-key.ts';
import { publicJwk, signingKey } from './signing-key.ts';

/** All that publishing needs. `transition:generic` is what an app password may do: no messages, no account settings. */
const scope = 'atproto transition:generic';

/** How authorization servers know this service. The metadata are the document that stands under our client id. */
export type OauthClient = {
  readonly metadata: OAuthClientMetadataInput;
  /** Signs for us; null where we are a public client. */
  readonly key: SigningJwk | null;
};

/**
 * Under an https address we are a confidential client, which signs its requests: a server keeps its sessions for two
 * years, of which three months may pass without a refresh. A public client's session ends after two weeks, whatever is
 * refreshed, and its owner would have to come back that often.
 *
 * At a loopback address no server could fetch a document. So the client id itself says what there is to say, and such
 * a client is always public.
 *
 * Sources: https://atproto.com/specs/oauth, `oauth-constants.js` of @atproto/oauth-provider.
 *
 * @param redirectUri Where browsers come back to; null where the address of this service is neither.
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

  // The browser comes back to the host at which the connection began, and RFC 8252 knows no `localhost`.
  return /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/|$)/v.test(redirectUri)
    ? { metadata: loopback(redirectUri), key: null }
    : null;
}

/**
 * The client under which a grant was given: another public URL since then is another client, and a server ends a
 * session that two clients use.
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
