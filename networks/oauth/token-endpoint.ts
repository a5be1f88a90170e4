import * as oauth from 'oauth4webapi';
import { jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import type { OauthContext } from '../oauth.ts';
import { sendRequest } from '../send-request.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { appSecrets, authenticationOf } from './client-secret.ts';
import { TokenRefusal } from './token-refusal.ts';
import { conforming, readTokens, type Tokens } from './tokens.ts';

type Code = {
  /** Of `validateAuthResponse`. */
  readonly answer: URLSearchParams;
  readonly redirectUri: string;
  /** Of PKCE; null where the server is not asked for it. */
  readonly verifier: string | null;
};

/** What every request to a token endpoint needs. */
type Exchange = {
  readonly server: AuthorizationServer;
  readonly context: OauthContext;
  /** What the request carries and no message may repeat, beside the app's secret. */
  readonly secrets: readonly string[];
};

/**
 * Buys tokens with an authorization code.
 *
 * @throws TokenRefusal for an answer without tokens.
 * @throws NetworkError `network_unavailable` when no answer came, or one that cannot be read; the error of the
 *   server's `refusalOf`.
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

/** Buys tokens with a refresh token. Throws as `redeemCode` does. */
export async function redeemRefreshToken(exchange: Exchange, token: string): Promise<Tokens> {
  const { as, client, authentication, options } = requestOf(exchange);
  const request = oauth.refreshTokenGrantRequest(as, client, authentication, token, options);
  return tokensIn(exchange, oauth.processRefreshTokenResponse(as, client, await request));
}

function requestOf(exchange: Exchange) {
  const { tokenUrl, app } = exchange.server;
  return {
    // An issuer is compared with those of ID tokens only, and there are none.
    as: { issuer: tokenUrl, token_endpoint: tokenUrl },
    client: { client_id: app.clientId },
    authentication: authenticationOf(exchange.server),
    options: {
      [oauth.customFetch]: fetchThrough(exchange),
      // Egress sends plain http to no address but those that the operator opened.
      [oauth.allowInsecureRequests]: tokenUrl.startsWith('http:'),
    },
  };
}

/** `fetch` for the library: one request by egress. @throws TokenRefusal or the error of `refusalOf`, for any answer but 200. */
const fetchThrough =
  ({ server, context, secrets }: Exchange) =>
  async (url: string, init: oauth.CustomFetchOptions<'POST', URLSearchParams>) => {
    const { http, signal, now } = context;
    const { authorization } = init.headers;
    const response = await sendRequest(
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

/** The library's errors carry the whole answer, so that none of them goes any further. */
async function tokensIn({ server }: Exchange, answer: Promise<unknown>): Promise<Tokens> {
  const tokens = readTokens(await answer.catch(() => null));
  if (!tokens) {
    const message = `${server.name} gave an answer that does not read as one.`;
    throw new NetworkError('network_unavailable', message, { taken: 'no', server: 'answered' });
  }

  return tokens;
}
