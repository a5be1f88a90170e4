import type { ExecutionContext } from 'ava';
import { blueskyOauth } from '../../../../networks/bluesky/oauth/oauth.ts';
import type { Authorized, Grant } from '../../../../networks/oauth/contract.ts';
import { beginning, contextFor } from '../../oauth/context.ts';
import { startScriptedServer, type Answer, type Asked } from '../../oauth/scripted-server.ts';

const publicUrl = 'https://punctual.example';
const redirectUri = `${publicUrl}/connect/callback/bluesky`;
const did = 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa';

/** The server's default tokens. */
export const tokens = {
  access_token: 'planted-access-token',
  refresh_token: 'planted-refresh/token+1',
  token_type: 'DPoP',
  scope: 'atproto transition:generic',
  sub: did,
  expires_in: 3600,
};

/** A self-hosted Bluesky server with the directory of its accounts. */
export async function ownServer(t: ExecutionContext) {
  /** The test's answers, by path. */
  const answers = new Map<string, (asked: Asked) => Answer>();
  const server = await startScriptedServer(t, (asked) => {
    const path = asked.path.replace(/\?.*$/v, '');
    const known = documents(server.url)[path];
    return answers.get(path)?.(asked) ?? (known ? { json: known } : { status: 404, json: {} });
  });
  const oauth = blueskyOauth({ plcUrl: server.url, resolverUrl: server.url });
  const context = contextFor(t, [server.url], { publicUrl });
  const connect = async (code = 'planted-code/1'): Promise<Authorized> => {
    const values = { handle: server.url };
    const begun = await oauth.begin({
      ...beginning(context, values),
      redirectUriFor: () => redirectUri,
    });
    const { state, kept } = begun;
    const answer = new URLSearchParams({ state, iss: server.url, code });
    return oauth.finish({ ...context, answer, redirectUri, kept });
  };
  const refresh = (grant: Grant, now = context.now): Promise<Grant> =>
    oauth.refresh({ ...context, now, baseUrl: server.url, remoteId: did, grant });
  return { ...server, answers, connect, refresh };
}

const documents = (url: string): Readonly<Record<string, object>> => ({
  '/.well-known/oauth-protected-resource': { resource: url, authorization_servers: [url] },
  '/.well-known/oauth-authorization-server': {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    pushed_authorization_request_endpoint: `${url}/par`,
    revocation_endpoint: `${url}/revoke`,
    require_pushed_authorization_requests: true,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['atproto', 'transition:generic'],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  },
  '/par': { request_uri: 'urn:request:1', expires_in: 60 },
  '/token': tokens,
  '/revoke': {},
  [`/${encodeURIComponent(did)}`]: documentOf(url),
  '/xrpc/com.atproto.server.getSession': { did, handle: 'ana.example', active: true },
});

const documentOf = (url: string) => ({
  id: did,
  alsoKnownAs: ['at://ana.example'],
  service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: url }],
});
