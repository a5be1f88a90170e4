import type { EgressResponse } from '../../runtime/egress/egress.ts';
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
 * kept for the next try. A kept token that the server refuses is replaced once; the refused call did nothing.
 *
 * @throws NetworkError `access_lost` when the account cannot be entered (any more), or is not the connected one.
 */
export async function withSession(
  connection: Connection,
  call: (accessJwt: string) => Promise<EgressResponse>,
): Promise<EgressResponse> {
  const kept = readSession(connection.session);
  if (kept && lasts(kept.accessJwt, Date.now())) {
    const response = await call(kept.accessJwt);
    if (!isTokenRefused(response)) {
      return response;
    }
  }

  return call(await newToken(connection));
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
