import { accountOf, identities } from '../account.ts';
import type { CodeFlow } from '../../oauth/code-flow.ts';
import { OauthRefusal, type Fault } from '../../oauth/oauth-refusal.ts';
import { findClient } from './clients.ts';

const twoWeeksSeconds = 14 * 24 * 60 * 60;

/**
 * OAuth of atproto: pushed requests, PKCE, DPoP with nonces, single-use refresh tokens.
 *
 * Sources: https://atproto.com/specs/oauth, and responses of @atproto/oauth-provider.
 */
export const flow: CodeFlow = {
  network: 'bluesky',
  label: 'Bluesky',
  accounts: identities,
  scopes: {
    atproto: 'Know who you are.',
    'transition:generic': 'Post for you, and do what an app password can.',
  },
  authorizePath: '/oauth/authorize',
  tokenPath: '/oauth/token',
  findApp: findClient,
  authentication: [],
  required: ['scope', 'state', 'code_challenge', 'code_challenge_method'],
  tellsApp: false,
  scopeError: 'invalid_scope',
  denial: { error: 'access_denied', error_description: 'The user rejected the request' },
  policyOf: () => ({ accessSeconds: 3600, refresh: 'rotating', refreshSeconds: twoWeeksSeconds }),
  present: ({ grant, accessToken, accessSeconds, refreshToken }) => ({
    access_token: accessToken,
    token_type: 'DPoP',
    refresh_token: refreshToken,
    scope: grant.scopes.join(' '),
    expires_in: accessSeconds,
    sub: accountOf(grant.account).did,
  }),
  refusalOf,
};

function refusalOf(fault: Fault): OauthRefusal {
  const invalid = (description: string) => new OauthRefusal(400, 'invalid_grant', description);
  switch (fault.kind) {
    case 'client':
      return new OauthRefusal(400, 'invalid_client', 'The client did not show who it is');
    case 'missing':
      return new OauthRefusal(400, 'invalid_request', `Missing ${fault.parameter}`);
    case 'grant type':
      return new OauthRefusal(400, 'invalid_grant', `Grant type "${fault.given}" not supported`);
    case 'code':
      return invalid('Invalid code');
    case 'redirect':
      return invalid('The redirect_uri parameter must match the one of the request');
    case 'verifier':
      return invalid('Invalid code_verifier');
    case 'refresh token':
      return invalid('Invalid refresh token');
  }
}
