import { Router } from '@koa/router';
import { identities } from './account.ts';
import type { SandboxDeps } from '../deps.ts';
import { addAuthorizeRoutes } from '../oauth/authorize-routes.ts';
import { findSandboxApp, type CodeFlow } from '../oauth/code-flow.ts';
import { OauthRefusal, type Fault } from '../oauth/oauth-refusal.ts';
import { addTokenRoute, answerOauthErrors, fieldsOf } from '../oauth/token-routes.ts';

/** Google's scopes. */
export const scopes = {
  upload: 'https://www.googleapis.com/auth/youtube.upload',
  read: 'https://www.googleapis.com/auth/youtube.readonly',
  manage: 'https://www.googleapis.com/auth/youtube',
  all: 'https://www.googleapis.com/auth/youtube.force-ssl',
} as const;

/**
 * OAuth 2.0 of Google: a refresh token is only issued on request, and is reusable.
 *
 * The user chooses a channel where Google shows the account's channels, and may deselect scopes.
 *
 * Source: https://developers.google.com/identity/protocols/oauth2/web-server
 */
const flow: CodeFlow = {
  network: 'youtube',
  label: 'YouTube',
  accounts: identities,
  scopes: {
    [scopes.upload]: 'Manage your YouTube videos.',
    [scopes.read]: 'View your YouTube account.',
    [scopes.manage]: 'Manage your YouTube account.',
    [scopes.all]: 'See, edit and delete your videos, ratings, comments and captions.',
    'https://www.googleapis.com/auth/yt-analytics.readonly': 'View YouTube Analytics reports.',
  },
  picksScopes: true,
  authorizePath: '/youtube/o/oauth2/v2/auth',
  tokenPath: '/youtube/token',
  findApp: findSandboxApp,
  authentication: ['basic', 'body'],
  required: ['scope'],
  tellsApp: false,
  scopeError: 'invalid_scope',
  denial: { error: 'access_denied' },
  remember: (query) => ({
    isOffline: String(
      query.get('access_type') === 'offline' &&
        (query.get('prompt') ?? '').split(' ').includes('consent'),
    ),
  }),
  addToCallback: (consent) => ({ scope: consent.scopes.join(' ') }),
  policyOf: ({ data }) => ({
    accessSeconds: 3600,
    refresh: data?.['isOffline'] === 'true' ? 'fixed' : 'none',
    refreshSeconds: null,
  }),
  present: ({ grant, accessToken, accessSeconds, refreshToken }, isFirst) => ({
    access_token: accessToken,
    expires_in: accessSeconds,
    ...(isFirst && refreshToken !== null && { refresh_token: refreshToken }),
    scope: grant.scopes.join(' '),
    token_type: 'Bearer',
  }),
  refusalOf,
};

function refusalOf(fault: Fault): OauthRefusal {
  const invalid = (description: string) => new OauthRefusal(400, 'invalid_grant', description);
  switch (fault.kind) {
    case 'client':
      return new OauthRefusal(401, 'invalid_client', 'The OAuth client was not found.');
    case 'missing':
      return new OauthRefusal(
        400,
        'invalid_request',
        `Missing required parameter: ${fault.parameter}`,
      );
    case 'grant type':
      return new OauthRefusal(400, 'unsupported_grant_type', `Invalid grant_type: ${fault.given}`);
    case 'code':
      return invalid('Malformed auth code.');
    case 'redirect':
      return new OauthRefusal(400, 'redirect_uri_mismatch', 'Bad Request');
    case 'verifier':
      return invalid('Invalid code verifier.');
    case 'refresh token':
      return invalid('Token has been expired or revoked.');
  }
}

/** Google's authorize page, token endpoint, and the endpoint that revokes an account's grants to an app. */
export function youtubeOauthRoutes(deps: SandboxDeps): Router {
  const { grants } = deps;
  const router = new Router();
  addAuthorizeRoutes(router, deps, flow);
  addTokenRoute(router, deps, flow);
  router.post('/youtube/revoke', answerOauthErrors, async (ctx) => {
    const token = ctx.URL.searchParams.get('token') ?? (await fieldsOf(ctx))['token'] ?? '';
    const [refresh, access] = [grants.refresh('youtube', token), grants.access('youtube', token)];
    const state = refresh.kind === 'unknown' ? access : refresh;
    if (state.kind !== 'live') {
      throw new OauthRefusal(400, 'invalid_token', 'Token expired or revoked');
    }
    const { account, client } = state.grant;
    await grants.revoke(grants.of('youtube', account).filter((grant) => grant.client === client));
    ctx.body = {};
  });
  return router;
}
