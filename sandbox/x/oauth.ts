import { Router } from '@koa/router';
import { identities } from './account.ts';
import type { SandboxDeps } from '../deps.ts';
import { addAuthorizeRoutes } from '../oauth/authorize-routes.ts';
import { authenticatedApp } from '../oauth/client-authentication.ts';
import { findSandboxApp, type CodeFlow } from '../oauth/code-flow.ts';
import { OauthRefusal, type Fault } from '../oauth/oauth-refusal.ts';
import { addTokenRoute, answerOauthErrors, fieldsOf } from '../oauth/token-routes.ts';

/**
 * OAuth 2.0 of X: PKCE required, single-use refresh tokens.
 *
 * Source: https://docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token. X's responses to invalid requests
 * are not documented there; they are quoted in issues of its client libraries.
 */
const flow: CodeFlow = {
  network: 'x',
  label: 'X',
  accounts: identities,
  scopes: {
    'tweet.read': 'See your posts.',
    'tweet.write': 'Post and repost for you.',
    'users.read': 'See your profile.',
    'media.write': 'Upload media for you.',
    'offline.access': 'Stay connected until you revoke access.',
  },
  authorizePath: '/x/i/oauth2/authorize',
  tokenPath: '/x/2/oauth2/token',
  findApp: findSandboxApp,
  authentication: ['basic'],
  required: ['scope', 'state', 'code_challenge', 'code_challenge_method'],
  tellsApp: false,
  scopeError: 'invalid_scope',
  denial: { error: 'access_denied' },
  policyOf: ({ scopes }) => ({
    accessSeconds: 7200,
    refresh: scopes.includes('offline.access') ? 'rotating' : 'none',
    refreshSeconds: null,
  }),
  present: ({ grant, accessToken, accessSeconds, refreshToken }) => ({
    token_type: 'bearer',
    expires_in: accessSeconds,
    access_token: accessToken,
    scope: grant.scopes.join(' '),
    ...(refreshToken !== null && { refresh_token: refreshToken }),
  }),
  refusalOf,
};

function refusalOf(fault: Fault): OauthRefusal {
  const invalid = (description: string) => new OauthRefusal(400, 'invalid_request', description);
  switch (fault.kind) {
    case 'client':
      return new OauthRefusal(401, 'unauthorized_client', 'Missing valid authorization header');
    case 'missing':
      return invalid(`Missing required parameter [${fault.parameter}].`);
    case 'grant type':
      return new OauthRefusal(400, 'unsupported_grant_type', `Invalid grant type ${fault.given}`);
    case 'code':
      return invalid('Value passed for the authorization code was invalid.');
    case 'redirect':
      return invalid(
        'Value passed for the redirect uri did not match the uri of the authorization code.',
      );
    case 'verifier':
      return invalid('Value passed for the code verifier did not match the code challenge.');
    case 'refresh token':
      return invalid('Value passed for the token was invalid.');
  }
}

/** X's authorize page, token endpoint and revocation endpoint. */
export function xOauthRoutes(deps: SandboxDeps): Router {
  const { grants } = deps;
  const router = new Router();
  addAuthorizeRoutes(router, deps, flow);
  addTokenRoute(router, deps, flow);
  router.post('/x/2/oauth2/revoke', answerOauthErrors, async (ctx) => {
    const fields = await fieldsOf(ctx);
    if (authenticatedApp(ctx, flow, fields) === undefined) {
      throw refusalOf({ kind: 'client' });
    }
    const token = fields['token'] ?? '';
    const [refresh, access] = [grants.refresh('x', token), grants.access('x', token)];
    if (refresh.kind !== 'unknown') {
      await grants.revoke([refresh.grant]);
    } else if (access.kind === 'unknown') {
      throw refusalOf({ kind: 'refresh token' });
    } else {
      await grants.endToken(access.grant, token);
    }
    ctx.body = { revoked: true };
  });
  return router;
}
