import * as oauth from 'oauth4webapi';
import { jsonOf } from '../answer.ts';
import { sendNetworkRequest } from '../http.ts';
import { NetworkError } from '../network.ts';
import { aboutApp, TokenRefusal, type AuthorizationServer } from './authorization-server.ts';
import {
  OauthError,
  type Grant,
  type OauthAppCredentials,
  type OauthContext,
  type Refresh,
} from './contract.ts';
import { conforming, grantOf, readTokens, type Tokens } from './tokens.ts';

type Code = {
  /** From `validateAuthResponse`. */
  readonly answer: URLSearchParams;
  readonly redirectUri: string;
  /** The PKCE verifier; null when PKCE is not used. */
  readonly verifier: string | null;
};

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

/**
 * Gets new tokens with a grant's refresh token. A grant without one is returned unchanged until its access expires.
 *
 * @throws NetworkError as `Oauth.refresh` says.
 */
export async function refreshGrant(
  serverFor: () => AuthorizationServer,
  { grant, ...context }: Refresh,
): Promise<Grant> {
  const nowMs = context.now().getTime();
  if (grant.refreshToken === null) {
    return assertNotExpired(grant, nowMs);
  }

  const server = configured(serverFor);
  const secrets = [grant.refreshToken, grant.accessToken];
  try {
    const tokens = await redeemRefreshToken({ server, context, secrets }, grant.refreshToken);
    return { ...grant, ...grantOf(tokens, context.now().getTime(), grant) };
  } catch (error) {
    throw error instanceof TokenRefusal ? refusalToNetworkError(error, server) : error;
  }
}

function assertNotExpired(grant: Grant, nowMs: number): Grant {
  if (grant.accessEndsAtMs !== null && grant.accessEndsAtMs <= nowMs) {
    const message = 'The access has expired, and the network gave no refresh token to renew it.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  return grant;
}

function configured(serverFor: () => AuthorizationServer): AuthorizationServer {
  try {
    return serverFor();
  } catch (error) {
    throw error instanceof OauthError
      ? new NetworkError('internal', error.message, { accepted: 'no' })
      : error;
  }
}

/** Only errors that certainly mean it end a grant; others may be temporary. */
function refusalToNetworkError(refusal: TokenRefusal, server: AuthorizationServer): NetworkError {
  const { status, refused, details, retryAtMs } = refusal;
  const { name, appAdvice } = server;
  const answered = { accepted: 'no', server: 'answered' } as const;
  if (status === 429) {
    const message = `${name} takes no more requests for now ${details}.`;
    return new NetworkError('rate_limited', message, { ...answered, retryAtMs });
  }
  if (refused.error === 'invalid_grant' || server.endsGrant?.(refused)) {
    const message = `${name} does not accept the refresh token ${details}.`;
    return new NetworkError('access_lost', message, answered);
  }
  if (aboutApp.has(refused.error)) {
    const message = `${name} does not know this service ${details}. ${appAdvice}`;
    return new NetworkError('internal', message, answered);
  }

  const message = `${name} could not renew the access at the moment ${details}.`;
  return new NetworkError('network_unavailable', message, { ...answered, retryAtMs });
}

async function redeemRefreshToken(exchange: Exchange, token: string): Promise<Tokens> {
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

/**
 * Authenticates a request with the app's secret.
 *
 * HTTP Basic follows RFC 6749 (section 2.3.1, appendix B). The library's own version also encodes `-` and `_`, which
 * form encoding leaves alone; a server that does not decode would then refuse the secret.
 */
const authenticationOf = ({ app, secretIn }: AuthorizationServer): oauth.ClientAuth =>
  secretIn === 'form'
    ? oauth.ClientSecretPost(app.clientSecret)
    : (_as, _client, _body, headers) => headers.set('authorization', `Basic ${basicOf(app)}`);

/** The app's secret in each form that a request may contain. */
const appSecrets = ({ app }: AuthorizationServer): readonly string[] => [
  app.clientSecret,
  basicOf(app),
];

const basicOf = ({ clientId, clientSecret }: OauthAppCredentials): string =>
  btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);

const formEncoded = (value: string): string =>
  new URLSearchParams({ value }).toString().slice('value='.length);
