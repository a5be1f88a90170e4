import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  validateAuthResponse,
} from 'oauth4webapi';
import { having, nullable, text, type Json, type Value } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, quote } from '../answer.ts';
import type { Account } from '../network.ts';
import { asOauthError, type AuthorizationServer } from './authorization-server.ts';
import {
  OauthError,
  type Begun,
  type Finish,
  type Grant,
  type Oauth,
  type OauthContext,
} from './contract.ts';
import { redeemCode, refreshGrant } from './token-endpoint.ts';
import { grantOf, type Tokens } from './tokens.ts';

/** The state of a code flow between its two steps. The verifier is a secret. */
const keptSchema = having({ state: text, verifier: nullable(text) });
const readKept = answerReader(keptSchema);

/** Makes the URL at which a person authorizes this service (RFC 6749, section 4.1.1; PKCE: RFC 7636). */
export async function beginCodeFlow(
  server: AuthorizationServer,
  { state, redirectUri }: Pick<Begun, 'state' | 'redirectUri'>,
): Promise<Begun> {
  const verifier = server.usesPkce ? generateRandomCodeVerifier() : null;
  const parameters = new URLSearchParams({
    ...server.parameters,
    response_type: 'code',
    client_id: server.app.clientId,
    redirect_uri: redirectUri,
    scope: server.scopes.join(' '),
    state,
    ...(verifier !== null && {
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  });
  const url = new URL(server.authorizeUrl);
  // Not every server decodes a plus as a space.
  url.search = parameters.toString().replaceAll('+', '%20');
  return {
    url: url.href,
    state,
    redirectUri,
    kept: { state, verifier } satisfies Value<typeof keptSchema>,
  };
}

/**
 * Checks the query with which the browser returned, and redeems its code.
 *
 * @throws OauthError
 */
export async function finishCodeFlow(
  server: AuthorizationServer,
  { answer, redirectUri, kept, ...context }: Finish,
): Promise<Tokens> {
  const known = readKept(kept);
  if (!known) {
    throw new OauthError('expired', 'This attempt is no longer valid. Start over.');
  }

  const { state, verifier } = known;
  const checked = checkAnswer(server, answer, state);
  const secrets = [checked.get('code') ?? '', verifier ?? ''];
  try {
    const code = { answer: checked, redirectUri, verifier };
    return await redeemCode({ server, context, secrets }, code);
  } catch (error) {
    throw asOauthError(error, server);
  }
}

export type CodeFlowNetwork = {
  /** @throws OauthError `misconfigured` */
  readonly serverFor: (context: OauthContext) => AuthorizationServer;
  /**
   * Reads the accounts that a token covers.
   *
   * @throws OauthError; NetworkError
   */
  readonly accountsOf: (
    context: OauthContext,
    grant: Grant,
    tokens: Tokens,
  ) => Promise<readonly Account[]>;
};

/** The OAuth implementation for a network with one authorization server. */
export const codeFlowOauth = ({ serverFor, accountsOf }: CodeFlowNetwork): Oauth => ({
  begin: async ({ state, redirectUriFor, ...context }) =>
    beginCodeFlow(serverFor(context), { state, redirectUri: redirectUriFor() }),
  async finish(request) {
    const server = serverFor(request);
    const tokens = await finishCodeFlow(server, request);
    const grant = grantOf(tokens, request.now().getTime());
    try {
      const context = { ...request, http: withinSignal(request) };
      return {
        grant,
        accounts: (await accountsOf(context, grant, tokens)).map(withoutCredentials),
      };
    } catch (error) {
      throw asOauthError(error, server);
    }
  },
  refresh: async (request) => refreshGrant(() => serverFor(request), request),
});

/** Removes the credentials, because the grant holds the tokens. */
export const withoutCredentials = (account: Account): Account => ({
  ...account,
  credentials: {} satisfies Json,
  session: null,
});

/**
 * Checks the query with which the browser returned: its state, its issuer, and its success.
 *
 * Sources: RFC 6749 (section 4.1.2), RFC 9207.
 *
 * @returns the query in the library's form, for the token request.
 * @throws OauthError
 */
function checkAnswer(
  server: AuthorizationServer,
  answer: URLSearchParams,
  state: string,
): URLSearchParams {
  const { name, issuer } = server;
  const parameters = new URLSearchParams(answer);
  if (issuer === undefined) {
    parameters.delete('iss');
  }

  const as = {
    issuer: issuer ?? server.tokenUrl,
    authorization_response_iss_parameter_supported: server.alwaysSaysIssuer ?? false,
  };
  const checked = validated(as, server, parameters, state);
  const [code, ...more] = checked.getAll('code');
  if (!code) {
    throw new OauthError('unavailable', `${name} returned an unexpected response.`);
  }
  if (more.length > 0) {
    throw foreign(server);
  }

  return checked;
}

function validated(
  as: Parameters<typeof validateAuthResponse>[0],
  server: AuthorizationServer,
  parameters: URLSearchParams,
  state: string,
): URLSearchParams {
  try {
    return validateAuthResponse(as, { client_id: server.app.clientId }, parameters, state);
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      throw refusalIn(server, parameters);
    }

    throw foreign(server); // Drops the library's error, which contains the code.
  }
}

const foreign = ({ name }: AuthorizationServer): OauthError =>
  new OauthError(
    'expired',
    `${name} returned a response that does not belong to this link. Start over.`,
  );

export const declined = (name: string): string =>
  `${name} says that you declined. Nothing was connected, and you can try again.`;

/** Errors that mean a failure of the server (RFC 6749, section 4.1.2.1). */
const failures = new Set(['server_error', 'temporarily_unavailable']);

function refusalIn(server: AuthorizationServer, parameters: URLSearchParams): OauthError {
  const { name, app, denials = [], appAdvice } = server;
  const error = parameters.get('error') ?? '';
  const serverMessage = quote(parameters.get('error_description') || error, [app.clientSecret]);
  const details = serverMessage && `: ${serverMessage}`;
  if (error === 'access_denied' || denials.includes(error)) {
    return new OauthError('denied', declined(name));
  }
  if (failures.has(error)) {
    return new OauthError('unavailable', `${name} is not available at the moment${details}.`);
  }

  const message = `${name} does not accept the request of this service${details}. ${appAdvice}`;
  return new OauthError('misconfigured', message);
}

/** Egress for one step, whose requests all end with its signal, because a person waits for them. */
export const withinSignal = ({ http, signal }: Pick<OauthContext, 'http' | 'signal'>): Egress =>
  signal === undefined
    ? http
    : { ...http, request: (request) => http.request({ signal, ...request }) };
