import { anything, having, type Value } from '../../domain/json-schema.ts';
import { answerReader, jsonOf, quote, tokenSchema } from '../answer.ts';
import type { ServerAccess } from '../http.ts';
import { type Connection, NetworkError } from '../network.ts';
import type { Read } from '../client.ts';
import {
  bearerAuthorization,
  didSchema,
  errorName,
  isTokenRefused,
  xrpcProcedure,
  xrpcQuery,
  readXrpcError,
  type Authorization,
  type BlueskyAnswer,
} from './client.ts';
import { readGrantedAccess, withProof } from './oauth/grant.ts';

const credentialsSchema = having({
  identifier: { type: 'string', minLength: 1 },
  appPassword: { type: 'string', minLength: 1 },
});

export type BlueskyCredentials = Value<typeof credentialsSchema>;

const readCredentials = answerReader(credentialsSchema);

const readLogin = answerReader(
  having(
    {
      did: didSchema,
      handle: { type: 'string', minLength: 1, maxLength: 253 },
      accessJwt: tokenSchema,
    },
    /** The account's DID document, if the server includes it. */
    { didDoc: anything },
  ),
);

export type Login = NonNullable<ReturnType<typeof readLogin>>;

/** The refresh token in the response is not used: using one twice ends the session, and two workers could do so. */
export async function logIn(server: ServerAccess, credentials: BlueskyCredentials): Promise<Login> {
  const { identifier, appPassword: password } = credentials;
  const response = await xrpcProcedure(server, 'com.atproto.server.createSession', {
    body: { identifier, password },
    purpose: 'prepare',
    secrets: [password],
  });
  if (response.status === 400 && errorName(response) === 'InvalidRequest') {
    // The identifier is malformed; other failed logins get another error.
    const serverMessage = quote(readXrpcError(jsonOf(response))?.message, [password]);
    const message = `The Bluesky server does not know this account (HTTP 400)${serverMessage && `: ${serverMessage}`}.`;
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  return response.as(readLogin);
}

/** A token that ends sooner than this could expire on the way to the server. */
const marginMs = 60_000;

const sessionSchema = having({ accessJwt: tokenSchema });

export type BlueskySession = Value<typeof sessionSchema>;

const readSession = answerReader(sessionSchema);

const readClaims = answerReader(having({ exp: { type: 'number' } }));

type AccountConnection = ServerAccess &
  Pick<Connection, 'remoteId' | 'credentials' | 'session' | 'saveSession'>;

/**
 * Calls the server with the account's access: the grant's token, if it was connected in a browser. With an app password
 * it is the stored token while that is valid, otherwise a new login, which is stored for the next attempt. A token that
 * the server refuses is replaced and the call repeated, because the refused call did nothing.
 */
export async function withSession(
  connection: AccountConnection,
  call: (authorization: Authorization) => Promise<BlueskyAnswer>,
): Promise<BlueskyAnswer> {
  const granted = readGrantedAccess(connection.credentials);
  if (granted) {
    return withProof(connection, granted, call);
  }

  const kept = readSession(connection.session)?.accessJwt;
  if (kept !== undefined && lasts(kept, Date.now())) {
    const response = await call(bearerAuthorization(kept));
    if (!isTokenRefused(response)) {
      return response;
    }
  }

  return call(bearerAuthorization(await newToken(connection)));
}

/** Sends a query with the account's session. */
export async function queryWithSession<T>(
  connection: AccountConnection,
  method: string,
  parameters: Readonly<Record<string, string | readonly string[]>>,
  read: Read<T>,
): Promise<T> {
  const answer = await withSession(connection, (authorization) =>
    xrpcQuery(connection, method, parameters, 'prepare', authorization),
  );
  return answer.as(read);
}

const readServiceToken = answerReader(having({ token: tokenSchema }));

/** Asks the account's server for a token with which another service may act for the account. */
export async function serviceToken(
  connection: AccountConnection,
  audience: string,
  method: string,
  seconds: number,
): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const parameters = { aud: audience, lxm: method, exp: String(exp) };
  const query = 'com.atproto.server.getServiceAuth';
  const { token } = await queryWithSession(connection, query, parameters, readServiceToken);
  return token;
}

async function newToken(connection: AccountConnection): Promise<string> {
  const credentials = readCredentials(connection.credentials);
  if (!credentials) {
    throw new NetworkError('access_lost', 'The channel has no app password.', { accepted: 'no' });
  }

  const { did, accessJwt } = await logIn(connection, credentials);
  if (did !== connection.remoteId) {
    // A handle can get another owner, whose account must not get the post.
    const message = 'The handle of this channel now belongs to another Bluesky account.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  await connection.saveSession({ accessJwt } satisfies BlueskySession);
  return accessJwt;
}

/** A token without a readable expiry is used: the server decides. */
function lasts(accessJwt: string, nowMs: number): boolean {
  const expiry = expiryMs(accessJwt);
  return expiry === null || expiry - marginMs > nowMs;
}

function expiryMs(jwt: string): number | null {
  try {
    const payload: unknown = JSON.parse(
      Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'),
    );
    const claims = readClaims(payload);
    return claims && claims.exp * 1000;
  } catch {
    return null;
  }
}
