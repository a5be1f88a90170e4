import { type Oauth, appOf, type ConfiguredApp } from '../oauth/contract.ts';
import type { Endpoints, OauthErrorBody } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import { connectX } from './connect.ts';
import { refusal, saysOutOfMoney } from './client.ts';

type XOauthSettings = {
  readonly app: ConfiguredApp;
  readonly endpoints: Endpoints;
  readonly apiUrl: string;
};

/** `offline.access` requests a refresh token. */
const scopes = ['tweet.read', 'tweet.write', 'users.read', 'media.write', 'offline.access'];

/**
 * Connects X accounts. An access token is valid for two hours. A refresh token is valid once, and its reuse may end the
 * whole grant.
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
      refusalOf: (response, secrets) =>
        saysOutOfMoney(response) ? refusal(response, { purpose: 'prepare', secrets }) : null,
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

const isDeadToken = ({ error, description }: OauthErrorBody): boolean =>
  error === 'invalid_request' && description.includes('Value passed for the token was invalid');
