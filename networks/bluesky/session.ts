import { createHash } from 'node:crypto';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote } from '../answer.ts';
import type { Json } from '../../domain/json-schema.ts';
import { type Connection, NetworkError } from '../network.ts';
import { tokenSchema } from '../oauth/tokens.ts';
import type { ServerAccess } from '../send-request.ts';
import {
  bearer,
  didSchema,
  errorName,
  isTokenRefused,
  procedure,
  readXrpcError,
  refusal,
  unreadable,
  type Authorization,
} from './client.ts';
import { readGrantedAccess, withProof } from './oauth/with-proof.ts';

export type BlueskyCredentials = {
  /** A handle or a DID. */
  readonly identifier: string;
  readonly appPassword: string;
};

/** Null when they are not those of a Bluesky account. */
const readCredentials: (credentials: Json) => BlueskyCredentials | null = answerReader({
  type: 'object',
  required: ['identifier', 'appPassword'],
  properties: {
    identifier: { type: 'string', minLength: 1 },
    appPassword: { type: 'string', minLength: 1 },
  },
});

export type Login = {
  readonly did: string;
  readonly handle: string;
  readonly accessJwt: string;
  /** What the directory says of the account, where the server hands it out. */
  readonly didDoc?: unknown;
};

/** Of `com.atproto.server.createSession`. */
const readLogin = answerReader<Login>({
  type: 'object',
  required: ['did', 'handle', 'accessJwt'],
  properties: {
    did: didSchema,
    handle: { type: 'string', minLength: 1, maxLength: 253 },
    accessJwt: tokenSchema,
  },
});

/**
 * Signs in with an app password.
 *
 * The refresh token of the answer is left alone: to use one twice ends the session, and two workers could.
 *
 * @throws NetworkError `access_lost` when the password or the account is no longer good, with `taken: 'no'` like all
 *   its errors, because no post was sent yet.
 */
export async function logIn(server: ServerAccess, credentials: BlueskyCredentials): Promise<Login> {
  const { identifier, appPassword: password } = credentials;
  const input = { identifier, password };
  const method = 'com.atproto.server.createSession';
  const response = await procedure(server, method, input, { purpose: 'prepare' });
  if (response.status === 400 && errorName(response) === 'InvalidRequest') {
    // An identifier that cannot be one. The server would say it of no other login.
    const words = quote(readXrpcError(jsonOf(response))?.message, [password]);
    const message = `The Bluesky server does not know this account (HTTP 400)${words && `: ${words}`}.`;
    throw new NetworkError('access_lost', message, { taken: 'no' });
  }
  if (response.status !== 200) {
    throw refusal(response, 'prepare', [password]);
  }

  const login = readLogin(jsonOf(response));
  if (!login) {
    throw unreadable('prepare');
  }
  return login;
}

/** A token that ends sooner than this could end on its way. */
const marginMs = 60_000;

/** What is kept of a login. Never the refresh token. */
export type Session = { readonly accessJwt: string };

const readSession = answerReader<Session>({
  type: 'object',
  required: ['accessJwt'],
  properties: { accessJwt: tokenSchema },
});

const readClaims = answerReader<{ readonly exp: number }>({
  type: 'object',
  required: ['exp'],
  properties: { exp: { type: 'number' } },
});

/** The part of a connection that a session needs. */
export type AccountConnection = ServerAccess &
  Pick<Connection, 'remoteId' | 'credentials' | 'session' | 'saveSession'>;

/**
 * Calls the server with the account's access: that of a grant, where it was connected in a browser. With an app password
 * it is the kept token while that lasts, otherwise that of a new login, which is kept for the next try; a token that the
 * server refuses is replaced, as the refused call did nothing.
 *
 * @throws NetworkError `access_lost` when the account cannot be entered (any more), or is not the connected one.
 */
export async function withSession(
  connection: AccountConnection,
  call: (authorization: Authorization) => Promise<EgressResponse>,
): Promise<EgressResponse> {
  const granted = readGrantedAccess(connection.credentials);
  if (granted) {
    return withProof(connection, granted, call);
  }

  const kept = readSession(connection.session)?.accessJwt;
  if (kept !== undefined && lasts(kept, Date.now())) {
    const response = await call(bearer(kept));
    if (!isTokenRefused(response)) {
      return response;
    }
  }

  const { accessJwt, isShared } = await renewSession(connection, kept);
  const response = await call(bearer(accessJwt));
  return isShared && isTokenRefused(response)
    ? call(bearer((await renewSession(connection, accessJwt)).accessJwt))
    : response;
}

/** How long a new session is handed to those who still hold the one before it, in milliseconds: a try reads it once. */
const sharedMs = 60_000;

/**
 * The logins of a process, by its egress: forty posts that find the same session ended log in once. A server takes 30
 * logins of an account in five minutes, and a workspace has more posts than that due at nine.
 */
const logins = new WeakMap<Egress, Map<string, Promise<string>>>();

type Renewed = {
  readonly accessJwt: string;
  /** Another call made it, perhaps some time ago. */
  readonly isShared: boolean;
};

/** @param ended The session that is over, if there was one. */
async function renewSession(
  connection: AccountConnection,
  ended: string | undefined,
): Promise<Renewed> {
  const { http, baseUrl, remoteId, credentials } = connection;
  const underWay = logins.get(http) ?? new Map<string, Promise<string>>();
  logins.set(http, underWay);
  const account = JSON.stringify([baseUrl, remoteId, credentials, ended ?? null]);
  const key = createHash('sha256').update(account).digest('base64url'); // Holds no password for a minute.
  const shared = underWay.get(key);
  if (shared) {
    return { accessJwt: await shared, isShared: true };
  }

  const login = newToken(connection);
  underWay.set(key, login);
  const forget = (): unknown => underWay.delete(key);
  login.then(() => setTimeout(forget, sharedMs).unref(), forget);
  return { accessJwt: await login, isShared: false };
}

async function newToken(connection: AccountConnection): Promise<string> {
  const credentials = readCredentials(connection.credentials);
  if (!credentials) {
    throw new NetworkError('access_lost', 'The channel has no app password.', { taken: 'no' });
  }

  const { did, accessJwt } = await logIn(connection, credentials);
  if (did !== connection.remoteId) {
    // A handle can change hands. Its new owner's account must not get the post.
    const message = 'The handle of this channel now belongs to another Bluesky account.';
    throw new NetworkError('access_lost', message, { taken: 'no' });
  }

  await connection.saveSession({ accessJwt } satisfies Session);
  return accessJwt;
}

/** A token that does not tell its end is tried: the server knows. */
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
