import type { Oauth } from '../oauth.ts';
import { appOf } from '../oauth/app-of.ts';
import type { ConfiguredApp } from '../oauth/app-settings.ts';
import type { Endpoints, Refused } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import { connectX } from './connect.ts';
import { moneyRefusal } from './refusal.ts';

/** What the operator set, and where the sandbox plays X. */
export type XOauthSettings = {
  readonly app: ConfiguredApp;
  readonly endpoints: Endpoints;
  readonly apiUrl: string;
};

/** `offline.access` is what brings a refresh token. */
const scopes = ['tweet.read', 'tweet.write', 'users.read', 'media.write', 'offline.access'];

/**
 * Accounts of X. An access token lives for two hours; a refresh token is taken once, and one that was used already may
 * end the whole grant.
 *
 * Source: https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code
 */
export const xOauth = ({ app, endpoints, apiUrl }: XOauthSettings): Oauth =>
  codeFlowOauth({
    serverFor: (context) => ({
      name: 'X',
      ...appOf(context, app, 'X'),
      ...(context.sandboxUrl === null ? endpoints : atSandbox(context.sandboxUrl)),
      secretIn: 'header',
      usesPkce: true,
      scopes,
      endsGrant: isDeadToken,
      refusalOf: (response, secrets) => moneyRefusal(response, 'prepare', secrets),
    }),
    accountsOf: async ({ http, sandboxUrl }, { accessToken }) => {
      const place =
        sandboxUrl === null
          ? { baseUrl: apiUrl }
          : { baseUrl: `${sandboxUrl}/x`, webUrl: `${sandboxUrl}/x` };
      return [await connectX(http, { ...place, accessToken })];
    },
  });

const atSandbox = (url: string): Endpoints => ({
  authorizeUrl: `${url}/x/i/oauth2/authorize`,
  tokenUrl: `${url}/x/2/oauth2/token`,
});

/** How X refuses a refresh token that is over. */
const isDeadToken = ({ error, description }: Refused): boolean =>
  error === 'invalid_request' && description.includes('Value passed for the token was invalid');
