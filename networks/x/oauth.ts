import type { OauthErrorBody } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import type { Oauth } from '../oauth/contract.ts';
import type { Site } from '../oauth/site.ts';
import { refusal, saysOutOfMoney } from './client.ts';
import { connectX } from './connect.ts';

/** `offline.access` requests a refresh token. */
const scopes = ['tweet.read', 'tweet.write', 'users.read', 'media.write', 'offline.access'];

/**
 * Connects X accounts. An access token is valid for two hours. A refresh token is valid once, and its reuse may end the
 * whole grant.
 *
 * Source: https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code
 */
export const xOauth = (site: Site): Oauth =>
  codeFlowOauth({
    serverFor: (context) => ({
      name: 'X',
      ...site.serverFor(context),
      secretIn: 'header',
      usesPkce: true,
      scopes,
      endsGrant: isDeadToken,
      refusalOf: (response, secrets) =>
        saysOutOfMoney(response) ? refusal(response, { purpose: 'prepare', secrets }) : null,
    }),
    accountsOf: async (context, { accessToken }) => {
      const baseUrl = site.apiFor(context);
      const webUrl = context.sandboxUrl === null ? {} : { webUrl: baseUrl };
      return [await connectX(context.http, { baseUrl, accessToken, ...webUrl })];
    },
  });

const isDeadToken = ({ error, description }: OauthErrorBody): boolean =>
  error === 'invalid_request' && description.includes('Value passed for the token was invalid');
