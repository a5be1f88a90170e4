import { createHash, randomBytes } from 'node:crypto';
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
import { grantOf, refreshGrant, requestTokens, type Tokens } from './token-endpoint.ts';

/** The state of a code flow between its two steps. The verifier is a secret. */
const keptSchema = having({ state: text, verifier: nullable(text) });
const readKept = answerReader(keptSchema);

/** Sources: RFC 6749 (section 4.1.1), RFC 7636 (PKCE). */
export function beginCodeFlow(
  server: AuthorizationServer,
  { state, redirectUri }: Pick<Begun, 'state' | 'redirectUri'>,
): Begun {
  const verifier = server.usesPkce ? randomBytes(32).toString('base64url') : null;
  const parameters = new URLSearchParams({
    ...server.parameters,
    response_type: 'code',
    client_id: server.app.clientId,
    redirect_uri: redirectUri,
    scope: server.scopes.join(' '),
    state,
    ...(verifier !== null && {
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
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

/** Checks the query with which the browser returned, and redeems its code. */
export async function finishCodeFlow(
  server: AuthorizationServer,
  { answer, redirectUri, kept, ...context }: Finish,
): Promise<Tokens> {
  const known = readKept(kept);
  if (!known) {
    throw new OauthError('expired', 'This attempt is no longer valid. Start over.');
  }

  const { state, verifier } = known;
  const code = codeIn(server, answer, state);
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    ...(verifier !== null && { code_verifier: verifier }),
  };
  try {
    return await requestTokens({ server, context, secrets: [code, verifier ?? ''] }, form);
  } catch (error) {
    throw asOauthError(error, 'expired');
  }
}

export type CodeFlowNetwork = {
  readonly serverFor: (context: OauthContext) => AuthorizationServer;
  /** Reads the accounts that a token covers. */
  readonly accountsOf: (
    context: OauthContext,
    grant: Grant,
    tokens: Tokens,
  ) => Promise<readonly Account[]>;
};

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
      throw asOauthError(error);
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
 * The code in the query with which the browser returned, whose state and issuer are checked.
 *
 * Sources: RFC 6749 (section 4.1.2), RFC 9207.
 */
function codeIn(server: AuthorizationServer, answer: URLSearchParams, state: string): string {
  const { name, issuer, alwaysSaysIssuer = false } = server;
  const only = (parameter: string): string | undefined => {
    const [value, ...more] = answer.getAll(parameter);
    if (more.length > 0) {
      throw foreign(server);
    }
    return value;
  };
  const said = only('iss') ?? (alwaysSaysIssuer ? undefined : issuer);
  if (only('state') !== state || (issuer !== undefined && said !== issuer)) {
    throw foreign(server);
  }
  if (only('error')) {
    throw refusalIn(server, answer);
  }

  const code = only('code');
  if (!code) {
    throw new OauthError('unavailable', `${name} returned an unexpected response.`);
  }
  return code;
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
