import { type Oauth, appOf, type ConfiguredApp } from '../oauth/contract.ts';
import type { Endpoints } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import { linkedinAccounts } from './connect.ts';

type LinkedinOauthSettings = {
  readonly app: ConfiguredApp;
  readonly endpoints: Endpoints;
  readonly scopes: readonly string[];
  readonly apiUrl: string;
  readonly version: string;
};

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
export const linkedinOauth = (own: LinkedinOauthSettings): Oauth =>
  codeFlowOauth({
    serverFor: (context) => ({
      name: 'LinkedIn',
      ...appOf(context, own.app, 'LinkedIn'),
      ...(context.sandboxUrl === null ? own.endpoints : atSandbox(context.sandboxUrl)),
      secretIn: 'form',
      usesPkce: false,
      scopes: context.sandboxUrl === null ? own.scopes : sandboxScopes,
      denials: ['user_cancelled_login', 'user_cancelled_authorize'],
    }),
    accountsOf: ({ http, sandboxUrl }, { accessToken }) => {
      const baseUrl = sandboxUrl === null ? own.apiUrl : `${sandboxUrl}/linkedin`;
      return linkedinAccounts(http, { baseUrl, accessToken, version: own.version });
    },
  });

const atSandbox = (url: string): Endpoints => ({
  authorizeUrl: `${url}/linkedin/oauth/v2/authorization`,
  tokenUrl: `${url}/linkedin/oauth/v2/accessToken`,
});
