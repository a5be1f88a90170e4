import { calculatePKCECodeChallenge, generateRandomCodeVerifier } from 'oauth4webapi';
import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { Account } from '../network.ts';
import { OauthError, type Begun, type Finish, type Grant, type Oauth } from './contract.ts';
import type { OauthContext } from './contract.ts';
import { checkAnswer } from './authorization-answer.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { asOauthError } from './oauth-failure.ts';
import { refreshGrant } from './refresh-grant.ts';
import { redeemCode } from './token-endpoint.ts';
import { grantOf, type Tokens } from './tokens.ts';
import { withinSignal } from './within-signal.ts';

/** The state of a code flow between its two steps. The verifier is a secret. */
type Kept = { readonly state: string; readonly verifier: string | null };

const readKept = answerReader<Kept>({
  type: 'object',
  required: ['state', 'verifier'],
  properties: { state: { type: 'string' }, verifier: { type: ['string', 'null'] } },
});

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
  return { url: url.href, state, redirectUri, kept: { state, verifier } satisfies Kept };
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
