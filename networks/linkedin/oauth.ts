import { codeFlowOauth } from '../oauth/code-flow.ts';
import type { Oauth } from '../oauth/contract.ts';
import type { Site } from '../oauth/site.ts';
import { linkedinAccounts } from './connect.ts';

/** The sandbox grants more than a real app gets: both its demo member and an organisation can post. */
const sandboxScopes = [
  'openid',
  'profile',
  'w_member_social',
  'r_organization_social',
  'w_organization_social',
  'rw_organization_admin',
];

/**
 * Connects LinkedIn accounts. Access lasts for 60 days; only apps of approved partners get a refresh token, which lasts
 * for a year and does not change.
 *
 * Sources: https://learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow,
 * https://learn.microsoft.com/linkedin/shared/authentication/programmatic-refresh-tokens
 */
export const linkedinOauth = (
  site: Site,
  own: { readonly scopes: readonly string[]; readonly version: string },
): Oauth =>
  codeFlowOauth({
    serverFor: (context) => ({
      name: 'LinkedIn',
      ...site.serverFor(context),
      secretIn: 'form',
      usesPkce: false,
      scopes: context.sandboxUrl === null ? own.scopes : sandboxScopes,
      denials: ['user_cancelled_login', 'user_cancelled_authorize'],
    }),
    accountsOf: (context, { accessToken }) => {
      const baseUrl = site.apiFor(context);
      return linkedinAccounts(context.http, { baseUrl, accessToken, version: own.version });
    },
  });
