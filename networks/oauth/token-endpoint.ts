import * as oauth from 'oauth4webapi';
import { jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import type { OauthContext } from './contract.ts';
import { sendNetworkRequest } from '../send-network-request.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { appSecrets, authenticationOf } from './client-secret.ts';
import { TokenRefusal } from './token-refusal.ts';
import { conforming, readTokens, type Tokens } from './tokens.ts';

type Code = {
  /** From `validateAuthResponse`. */
  readonly answer: URLSearchParams;
  readonly redirectUri: string;
  /** The PKCE verifier; null when PKCE is not used. */
  readonly verifier: string | null;
};

/** A request to a token endpoint. */
type Exchange = {
  readonly server: AuthorizationServer;
  readonly context: OauthContext;
  /** Secrets of the request, beside the app's, which must not appear in messages. */
  readonly secrets: readonly string[];
};

/**
 * Redeems an authorization code for tokens.
 *
 * @throws TokenRefusal for an error response.
 * @throws NetworkError `network_unavailable` when no response came, or an unexpected one; the error of the server's
 *   `refusalOf`.
 */
export async function redeemCode(exchange: Exchange, code: Code): Promise<Tokens> {
  const { as, client, authentication, options } = requestOf(exchange);
  const { answer, redirectUri, verifier } = code;
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    answer,
    redirectUri,
    verifier ?? oauth.nopkce,
    options,
  );
  return tokensIn(exchange, oauth.processAuthorizationCodeResponse(as, client, response));
}

/** Redeems a refresh token. Throws as `redeemCode` does. */
export async function redeemRefreshToken(exchange: Exchange, token: string): Promise<Tokens> {
  const { as, client, authentication, options } = requestOf(exchange);
  const request = oauth.refreshTokenGrantRequest(as, client, authentication, token, options);
  return tokensIn(exchange, oauth.processRefreshTokenResponse(as, client, await request));
}

function requestOf(exchange: Exchange) {
  const { tokenUrl, app } = exchange.server;
  return {
    // The library compares the issuer only with those of ID tokens, which are not used.
    as: { issuer: tokenUrl, token_endpoint: tokenUrl },
    client: { client_id: app.clientId },
    authentication: authenticationOf(exchange.server),
    options: {
      [oauth.customFetch]: fetchThrough(exchange),
      // The egress guard sends plain http only to addresses that the operator allows.
      [oauth.allowInsecureRequests]: tokenUrl.startsWith('http:'),
    },
  };
}

/**
 * The library's `fetch`: one request through egress. @throws TokenRefusal or the error of `refusalOf` unless the status
 * is 200.
 */
const fetchThrough =
  ({ server, context, secrets }: Exchange) =>
  async (url: string, init: oauth.CustomFetchOptions<'POST', URLSearchParams>) => {
    const { http, signal, now } = context;
    const { authorization } = init.headers;
    const response = await sendNetworkRequest(
      { http, baseUrl: server.tokenUrl, ...(signal && { signal }) },
      {
        method: 'POST',
        path: url,
        headers: authorization === undefined ? {} : { authorization },
        form: init.body,
        purpose: 'prepare',
      },
      server.name,
    );
    if (response.status !== 200) {
      const hidden = [...appSecrets(server), ...secrets];
      throw (
        server.refusalOf?.(response, hidden) ?? new TokenRefusal(response, hidden, now().getTime())
      );
    }

    return Response.json(conforming(jsonOf(response)));
  };

/** Drops the library's errors, because they contain the whole response. */
async function tokensIn({ server }: Exchange, answer: Promise<unknown>): Promise<Tokens> {
  const tokens = readTokens(await answer.catch(() => null));
  if (!tokens) {
    const message = `${server.name} returned an unexpected response.`;
    throw new NetworkError('network_unavailable', message, { accepted: 'no', server: 'answered' });
  }

  return tokens;
}
