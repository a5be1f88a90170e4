import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import { NetworkError, type Connection } from '../network.ts';
import { isTokenRefused } from './errors.ts';
import { logIn, readCredentials } from './log-in.ts';

/** A token that ends sooner than this could end on its way. */
const marginMs = 60_000;

/** What is kept of a login. Never the refresh token. */
export type Session = { readonly accessJwt: string };

const readSession = answerReader<Session>({
  type: 'object',
  required: ['accessJwt'],
  properties: { accessJwt: { type: 'string', pattern: '^[\\x21-\\x7e]+$' } },
});

const readClaims = answerReader<{ readonly exp: number }>({
  type: 'object',
  required: ['exp'],
  properties: { exp: { type: 'number' } },
});

/**
 * Calls the server with a token of the account: the kept one while it lasts, otherwise that of a new login, which is
 * kept for the next try. A token that the server refuses is replaced; the refused call did nothing.
 *
 * @throws NetworkError `access_lost` when the account cannot be entered (any more), or is not the connected one.
 */
export async function withSession(
  connection: Connection,
  call: (accessJwt: string) => Promise<EgressResponse>,
): Promise<EgressResponse> {
  const kept = readSession(connection.session)?.accessJwt;
  if (kept !== undefined && lasts(kept, Date.now())) {
    const response = await call(kept);
    if (!isTokenRefused(response)) {
      return response;
    }
  }

  const { accessJwt, isShared } = await renew(connection, kept);
  const response = await call(accessJwt);
  return isShared && isTokenRefused(response)
    ? call((await renew(connection, accessJwt)).accessJwt)
    : response;
}

/** How long a new session is handed to those who still hold the one before it, in milliseconds: a try reads it once. */
const sharedMs = 60_000;

/**
 * The logins of a process, by its way out: forty posts that find the same session ended log in once. A server takes 30
 * logins of an account in five minutes, and a workspace has more posts than that due at nine.
 */
const logins = new WeakMap<Egress, Map<string, Promise<string>>>();

type Renewed = {
  readonly accessJwt: string;
  /** Another call made it, perhaps some time ago. */
  readonly isShared: boolean;
};

/** @param ended The session that is over, if there was one. */
async function renew(connection: Connection, ended: string | undefined): Promise<Renewed> {
  const { http, baseUrl, remoteId, credentials } = connection;
  const underWay = logins.get(http) ?? new Map<string, Promise<string>>();
  logins.set(http, underWay);
  const key = JSON.stringify([baseUrl, remoteId, credentials, ended ?? null]);
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

async function newToken(connection: Connection): Promise<string> {
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
