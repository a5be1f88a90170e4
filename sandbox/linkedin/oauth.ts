import { Router } from '@koa/router';
import { members, identities } from './account.ts';
import type { SandboxDeps } from '../deps.ts';
import { addAuthorizeRoutes } from '../oauth/authorize-routes.ts';
import { findSandboxApp, type CodeFlow } from '../oauth/code-flow.ts';
import type { SandboxGrant } from '../oauth/grant.ts';
import { OauthRefusal, type Fault } from '../oauth/oauth-refusal.ts';
import { addTokenRoute } from '../oauth/token-routes.ts';
import { originOf } from '../origin.ts';
import { createIdTokens } from './id-token.ts';

const daySeconds = 24 * 60 * 60;

/** Scopes that require LinkedIn's approval. */
export const partnerScopes = [
  'r_member_social',
  'r_organization_social',
  'w_organization_social',
  'rw_organization_admin',
  'r_member_postAnalytics',
] as const;

/** Scopes and their meanings. */
const scopes = {
  openid: 'Use your name and photo.',
  profile: 'Use your name and photo.',
  email: 'Use the primary email address of your account.',
  w_member_social: 'Create, modify and delete posts, comments and reactions for you.',
  r_member_social: 'Retrieve your posts, comments and reactions.',
  r_organization_social: 'Retrieve your organization’s posts, comments and reactions.',
  w_organization_social: 'Create, modify and delete posts for your organization.',
  rw_organization_admin: 'Manage your organization’s pages.',
  r_member_postAnalytics: 'Retrieve the analytics of your posts.',
};

/**
 * OAuth 2.0 of LinkedIn: no PKCE required, the client secret in the body, refresh tokens only for few apps.
 *
 * Sources: https://learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow and
 * https://learn.microsoft.com/linkedin/shared/authentication/programmatic-refresh-tokens
 */
function flowOf({ script, now }: SandboxDeps): CodeFlow {
  const idTokens = createIdTokens(now);
  return {
    network: 'linkedin',
    label: 'LinkedIn',
    accounts: identities,
    scopes,
    authorizePath: '/linkedin/oauth/v2/authorization',
    tokenPath: '/linkedin/oauth/v2/accessToken',
    findApp: findSandboxApp,
    authentication: ['body'],
    required: ['scope'],
    tellsApp: true,
    scopeError: 'unauthorized_scope_error',
    denial: {
      error: 'user_cancelled_authorize',
      error_description: 'The user cancelled the authorization',
    },
    regranting: 'new scopes',
    // The consent decides whether there are refresh tokens.
    remember: () => ({
      hasRefreshToken: String(script.orderOf('linkedin', 'refresh-tokens') !== undefined),
    }),
    policyOf: ({ data }) => ({
      accessSeconds: 60 * daySeconds,
      refresh: data?.['hasRefreshToken'] === 'true' ? 'fixed' : 'none',
      refreshSeconds: 365 * daySeconds,
    }),
    present: (
      { grant, accessToken, accessSeconds, refreshToken, refreshSeconds },
      isFirst,
      ctx,
    ) => ({
      access_token: accessToken,
      expires_in: accessSeconds,
      ...(refreshToken !== null && {
        refresh_token: refreshToken,
        refresh_token_expires_in: refreshSeconds,
      }),
      // The response to a refresh has none of these.
      ...(isFirst && {
        scope: grant.scopes.toSorted().join(','),
        token_type: 'Bearer',
        ...(grant.scopes.includes('openid') && {
          id_token: idTokens.issue(`${originOf(ctx)}/linkedin/oauth`, claimsOf(grant)),
        }),
      }),
    }),
    refusalOf,
  };
}

function claimsOf({ account, client }: SandboxGrant) {
  const { id, displayName: name } = members[account];
  return { aud: client, sub: id, name, given_name: name, locale: 'en_US' };
}

/** LinkedIn uses one message for every fault of a code. */
const noMatch =
  'Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. Or authorization code expired. Or external member binding exists';

function refusalOf(fault: Fault): OauthRefusal {
  switch (fault.kind) {
    case 'client':
      return new OauthRefusal(401, 'invalid_client', 'Client authentication failed');
    case 'missing':
      return new OauthRefusal(
        400,
        'invalid_request',
        `A required parameter "${fault.parameter}" is missing`,
      );
    case 'grant type':
      return new OauthRefusal(
        400,
        'unsupported_grant_type',
        `The authorization grant type "${fault.given}" is not supported`,
      );
    case 'code':
    case 'verifier':
      return new OauthRefusal(400, 'invalid_request', noMatch);
    case 'redirect':
      return new OauthRefusal(400, 'invalid_redirect_uri', noMatch);
    case 'refresh token':
      return new OauthRefusal(
        400,
        'invalid_grant',
        'The provided authorization grant or refresh token is invalid, expired or revoked.',
      );
  }
}

/** LinkedIn's authorize page and its token endpoint. */
export function linkedinOauthRoutes(deps: SandboxDeps): Router {
  const flow = flowOf(deps);
  const router = new Router();
  addAuthorizeRoutes(router, deps, flow);
  addTokenRoute(router, deps, flow);
  return router;
}
