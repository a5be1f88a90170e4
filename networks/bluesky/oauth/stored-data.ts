import type { Jwk, NodeSavedSession, NodeSavedState } from '@atproto/oauth-client-node';
import { answerReader } from '../../answer.ts';
import type { Grant } from '../../oauth/contract.ts';
import { longestSeconds, tokenSchema } from '../../oauth/tokens.ts';
import { didSchema } from '../client.ts';

/** A private key of the curve P-256: proves by DPoP that we hold a token (RFC 9449). */
export type DpopJwk = {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly d: string;
};

const text = { type: 'string', minLength: 1, maxLength: 4096 };

const dpopJwk = {
  type: 'object',
  required: ['kty', 'crv', 'x', 'y', 'd'],
  properties: {
    kty: { type: 'string', const: 'EC' },
    crv: { type: 'string', const: 'P-256' },
    x: text,
    y: text,
    d: text,
  },
};

const authMethod = {
  type: 'object',
  required: ['method'],
  properties: { method: { type: 'string', enum: ['none', 'private_key_jwt'] }, kid: text },
};

/** The state of a connection in progress: the library's own state record, and the account that was named. */
export type StoredFlow = {
  readonly state: string;
  readonly record: NodeSavedState;
  /** Null when the person named only a server. */
  readonly did: string | null;
};

export const readFlow = answerReader<StoredFlow>({
  type: 'object',
  required: ['state', 'record', 'did'],
  properties: {
    state: text,
    did: { anyOf: [didSchema, { type: 'null' }] },
    record: {
      type: 'object',
      required: ['iss', 'dpopJwk', 'authMethod', 'verifier'],
      properties: { iss: text, dpopJwk, authMethod, verifier: text },
    },
  },
});

/** `Grant.data` of Bluesky: the library's session record without its tokens, and the client that it was given to. */
export type GrantData = {
  readonly clientId: string;
  readonly redirectUri: string;
  /** The authorization server. */
  readonly issuer: string;
  /** The account's PDS, for which the tokens are valid. */
  readonly audience: string;
  readonly scope: string;
  readonly authMethod: { readonly method: 'none' | 'private_key_jwt'; readonly kid?: string };
  readonly dpopJwk: DpopJwk;
};

export const readGrantData = answerReader<GrantData>({
  type: 'object',
  required: ['clientId', 'redirectUri', 'issuer', 'audience', 'scope', 'authMethod', 'dpopJwk'],
  properties: {
    clientId: text,
    redirectUri: text,
    issuer: text,
    audience: text,
    scope: text,
    authMethod,
    dpopJwk,
  },
});

/** Checks the tokens, because the library accepts any text. */
const readTokens = answerReader<{ readonly access_token: string; readonly refresh_token?: string }>(
  {
    type: 'object',
    required: ['access_token'],
    properties: { access_token: tokenSchema, refresh_token: tokenSchema },
  },
);

/**
 * @param times.endsAtMs When the owner has to connect again.
 * @param times.now By the service's clock; the library uses the machine's.
 * @throws TypeError for tokens that are not valid in a header.
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

/** Restores the session record that the library wrote. */
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
