import { having } from '../../../domain/json-schema.ts';
import { createECDH, createHash, randomBytes } from 'node:crypto';
import {
  buildAtprotoLoopbackClientMetadata,
  isAtprotoDid,
  isOAuthClientIdDiscoverable,
  type OAuthClientMetadataInput,
  JoseKey,
  NodeOAuthClient,
  type Jwk,
  type NodeSavedSession,
  type NodeSavedState,
} from '@atproto/oauth-client-node';
import { answerReader, tokenSchema } from '../../answer.ts';
import type { Grant, OauthContext } from '../../oauth/contract.ts';
import { longestSeconds } from '../../oauth/token-endpoint.ts';
import { nonces, metadataPath, type DpopJwk, type GrantData } from './grant.ts';
import { resolveHandle } from '../client.ts';
import { egressFetch } from './requests.ts';

/** `transition:generic` has the rights of an app password: no messages, no account settings. */
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
 * @returns null when the address is neither https with a public host name nor loopback.
 */
export function oauthClient(
  publicUrl: string,
  redirectUri: string,
  derive: Derive,
): OauthClient | null {
  if (publicUrl !== '' && isOAuthClientIdDiscoverable(publicUrl + metadataPath)) {
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

type Derive = (purpose: string, lengthBytes: number) => Uint8Array;

type SigningJwk = {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly d: string;
  readonly kid: string;
  readonly alg: 'ES256';
};

/** The order of the group of P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * The key that identifies this installation to authorization servers.
 *
 * It is derived from SECRET_KEY, so all processes have it, and so does a restored database. Another SECRET_KEY loses
 * nothing more, because grants are sealed with it too.
 *
 * 48 bytes for a 32-byte number, so that all values are equally likely (FIPS 186-5, A.2.1).
 */
function signingKey(derive: Derive): SigningJwk {
  const bytes = Buffer.from(derive('bluesky/client-key', 48));
  const number = (BigInt(`0x${bytes.toString('hex')}`) % (order - 1n)) + 1n;
  const secret = Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey(); // 0x04, x, y
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) =>
    half.toString('base64url'),
  ) as [string, string];
  const d = secret.toString('base64url');
  return { kty: 'EC', crv: 'P-256', x, y, d, kid: thumbprint({ x, y }), alg: 'ES256' };
}

/** The JWK thumbprint of RFC 7638. */
const thumbprint = ({ x, y }: { readonly x: string; readonly y: string }): string =>
  createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');

const publicJwk = ({ d: _, ...jwk }: SigningJwk) => ({ ...jwk, use: 'sig' as const });

export type Directories = {
  /** The directory of `did:plc`. */
  readonly plcUrl: string;
  /** Answers `com.atproto.identity.resolveHandle`. */
  readonly resolverUrl: string;
};

export type OpenClient = {
  readonly client: NodeOAuthClient;
  readonly states: Map<string, NodeSavedState>;
  readonly sessions: Map<string, NodeSavedSession>;
  /** Secrets of its requests so far, which must not appear in messages. */
  readonly sent: ReadonlySet<string>;
};

/**
 * Opens the library for one call. Its stores exist only in memory; lasting data is sealed in our own tables.
 *
 * The library allows plain http, because the egress guard decides which addresses the operator allows.
 */
export async function openClient(
  { http, signal, sandboxUrl }: Pick<OauthContext, 'http' | 'signal' | 'sandboxUrl'>,
  { metadata, key }: OauthClient,
  directories: Directories,
): Promise<OpenClient> {
  const states = new Map<string, NodeSavedState>();
  const sessions = new Map<string, NodeSavedSession>();
  const sent = new Set<string>();
  const resolver = { http, baseUrl: sandboxUrl ?? directories.resolverUrl };
  const client = new NodeOAuthClient({
    clientMetadata: metadata,
    ...(key && { keyset: [await JoseKey.fromJWK({ ...key, key_ops: ['sign'] })] }),
    allowHttp: true,
    fetch: egressFetch(http, sent, signal),
    plcDirectoryUrl: sandboxUrl ?? directories.plcUrl,
    // The AppView knows handles in DNS and at their own hosts. DNS would bypass the egress guard. The answer is not
    // trusted: the DID's document must name the handle, and its server must confirm the account.
    handleResolver: {
      resolve: async (handle) => {
        const did = await resolveHandle({ ...resolver, ...(signal && { signal }) }, handle);
        return isAtprotoDid(did) ? did : null;
      },
    },
    dpopNonceCache: nonces,
    stateStore: storeIn(states),
    sessionStore: storeIn(sessions),
    runtimeImplementation: {
      // Every server must accept ES256, and our own proofs use it. The library would prefer ES256K.
      createKey: () => JoseKey.generate(['ES256']),
      getRandomValues: (length) => randomBytes(length),
      digest: (bytes, { name }) => createHash(name).update(bytes).digest(),
      // The caller holds the lock of the grant's row, which also works across processes.
      requestLock: (_name, work) => work(),
    },
  });
  return { client, states, sessions, sent };
}

const storeIn = <V>(map: Map<string, V>) => ({
  get: (key: string) => map.get(key),
  set: (key: string, value: V) => void map.set(key, value),
  del: (key: string) => void map.delete(key),
});

/** Checks the tokens, because the library accepts any text. */
const readTokens = answerReader(
  having({ access_token: tokenSchema }, { refresh_token: tokenSchema }),
);

/**
 * @param times.endsAtMs When the owner has to connect again.
 * @param times.now By the service's clock; the library uses the machine's.
 */
export function blueskyGrantOf(
  { tokenSet, dpopJwk: jwk, authMethod: how }: NodeSavedSession,
  client: Pick<GrantData, 'clientId' | 'redirectUri'>,
  { endsAtMs, now }: { readonly endsAtMs: number | null; readonly now: Date },
): Grant {
  const tokens = readTokens(tokenSet);
  if (!tokens) {
    throw new TypeError('The server returned invalid tokens.');
  }

  const { access_token: accessToken, refresh_token: refreshToken = null } = tokens;
  const { kty, crv, x, y, d } = jwk as DpopJwk;
  return {
    accessToken,
    accessEndsAtMs: instantOf(tokenSet.expires_at, now),
    refreshToken,
    endsAtMs,
    data: {
      clientId: client.clientId,
      redirectUri: client.redirectUri,
      issuer: tokenSet.iss,
      audience: tokenSet.aud,
      scope: tokenSet.scope,
      authMethod: { ...how },
      dpopJwk: { kty, crv, x, y, d },
    },
  };
}

/** Null for an unreasonably distant time. Times before 1970 become 0, because the database stores no negative ones. */
function instantOf(date: string | undefined, now: Date): number | null {
  const lastsMs = Date.parse(date ?? '') - Date.now();
  return lastsMs <= longestSeconds * 1000 ? Math.max(0, now.getTime() + lastsMs) : null;
}

export function sessionOf(grant: Grant, did: string, data: GrantData): NodeSavedSession {
  return {
    dpopJwk: data.dpopJwk as Jwk,
    authMethod: data.authMethod as NodeSavedSession['authMethod'],
    tokenSet: {
      iss: data.issuer,
      sub: did as `did:plc:${string}`,
      aud: data.audience as NodeSavedSession['tokenSet']['aud'],
      scope: data.scope as NodeSavedSession['tokenSet']['scope'],
      token_type: 'DPoP',
      access_token: grant.accessToken,
      ...(grant.refreshToken !== null && { refresh_token: grant.refreshToken }),
    },
  };
}
