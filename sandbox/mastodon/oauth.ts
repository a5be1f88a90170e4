import { Router } from '@koa/router';
import { identities } from './account.ts';
import { readRequestBody } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { addAuthorizeRoutes } from '../oauth/authorize-routes.ts';
import { authenticatedApp } from '../oauth/client-authentication.ts';
import type { CodeFlow } from '../oauth/code-flow.ts';
import { OauthRefusal, type Fault } from '../oauth/oauth-refusal.ts';
import { addTokenRoute, answerOauthErrors, fieldsOf } from '../oauth/token-routes.ts';
import { createApps, presentApp, type Apps } from './apps.ts';
import { answerMastodonErrors } from './guards.ts';
import { baseOf } from './present.ts';

const scopes: Readonly<Record<string, string>> = {
  read: 'Read all your account’s data.',
  'read:accounts': 'See account information.',
  'read:statuses': 'See all posts.',
  'read:notifications': 'See your notifications.',
  profile: 'Read only your account’s profile information.',
  write: 'Modify all your account’s data.',
  'write:accounts': 'Modify your profile.',
  'write:statuses': 'Publish posts.',
  'write:media': 'Upload media files.',
  follow: 'Modify account relationships.',
  push: 'Receive your push notifications.',
};

/**
 * OAuth 2.0 of Mastodon: apps register themselves, access tokens do not expire, and there are no refresh tokens.
 *
 * Sources: https://docs.joinmastodon.org/spec/oauth/ and, for the messages of errors, Doorkeeper.
 */
const flowOf = (apps: Apps): CodeFlow => ({
  network: 'mastodon',
  label: 'Mastodon',
  accounts: identities,
  scopes,
  defaultScope: 'read',
  authorizePath: '/mastodon/oauth/authorize',
  tokenPath: '/mastodon/oauth/token',
  findApp: apps.find,
  authentication: ['basic', 'body'],
  required: [],
  tellsApp: true,
  scopeError: 'invalid_scope',
  denial: {
    error: 'access_denied',
    error_description: 'The resource owner or authorization server denied the request.',
  },
  regranting: 'same tokens',
  policyOf: () => ({ accessSeconds: null, refresh: 'none', refreshSeconds: null }),
  present: ({ grant, accessToken, accessSeconds, issuedAtMs }) => ({
    access_token: accessToken,
    token_type: 'Bearer',
    ...(accessSeconds !== null && { expires_in: accessSeconds }),
    scope: grant.scopes.join(' '),
    created_at: Math.floor(issuedAtMs / 1000),
  }),
  refusalOf,
});

function refusalOf(fault: Fault): OauthRefusal {
  switch (fault.kind) {
    case 'client':
      return new OauthRefusal(
        401,
        'invalid_client',
        'Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.',
        { 'www-authenticate': 'Bearer realm="Doorkeeper", error="invalid_client"' },
      );
    case 'missing':
      return new OauthRefusal(
        400,
        'invalid_request',
        `Missing required parameter: ${fault.parameter}.`,
      );
    case 'grant type':
    case 'refresh token':
      return new OauthRefusal(
        400,
        'unsupported_grant_type',
        'The authorization grant type is not supported by the authorization server.',
      );
    case 'code':
    case 'redirect':
    case 'verifier':
      return new OauthRefusal(
        400,
        'invalid_grant',
        'The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.',
      );
  }
}

/** Registration of apps, the authorize page, the token endpoint, and revocation. */
export function mastodonOauthRoutes(deps: SandboxDeps): Router {
  const { grants, store } = deps;
  const apps = createApps(store.apps, Object.keys(scopes));
  const flow = flowOf(apps);
  const router = new Router();
  addAuthorizeRoutes(router, deps, flow);
  addTokenRoute(router, deps, flow);

  router.post('/mastodon/api/v1/apps', answerMastodonErrors, async (ctx) => {
    ctx.body = presentApp(await apps.register(await readRequestBody(ctx.req)));
  });

  router.post('/mastodon/oauth/revoke', answerOauthErrors, async (ctx) => {
    const fields = await fieldsOf(ctx);
    const app = authenticatedApp(ctx, flow, fields);
    const state = grants.access('mastodon', fields['token'] ?? '');
    if (app === undefined || (state.kind !== 'unknown' && state.grant.client !== app.clientId)) {
      const description = 'You are not authorized to revoke this token';
      throw new OauthRefusal(403, 'unauthorized_client', description);
    }
    if (state.kind !== 'unknown') {
      await grants.revoke([state.grant]);
    }
    ctx.body = {};
  });

  router.get('/mastodon/.well-known/oauth-authorization-server', (ctx) => {
    const base = baseOf(ctx);
    ctx.body = {
      issuer: `${base}/`,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      revocation_endpoint: `${base}/oauth/revoke`,
      app_registration_endpoint: `${base}/api/v1/apps`,
      scopes_supported: Object.keys(scopes),
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
    };
  });
  return router;
}
