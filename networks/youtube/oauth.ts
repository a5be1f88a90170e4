import { OauthError, type Grant, type Oauth } from '../oauth.ts';
import { appOf } from '../oauth/app-of.ts';
import type { ConfiguredApp } from '../oauth/app-settings.ts';
import type { Endpoints } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import type { Tokens } from '../oauth/tokens.ts';
import { youtubeAccounts } from './connect.ts';

export type YoutubeOauthSettings = {
  readonly app: ConfiguredApp;
  readonly endpoints: Endpoints;
  readonly apiUrl: string;
};

/** What is asked for, by what stands beside each box on Google's page. */
const wishes: Readonly<Record<string, string>> = {
  'https://www.googleapis.com/auth/youtube.upload': 'Manage your YouTube videos',
  'https://www.googleapis.com/auth/youtube.readonly': 'View your YouTube account',
  'https://www.googleapis.com/auth/youtube.force-ssl':
    'See, edit, and permanently delete your YouTube videos, ratings, comments and captions',
};

const google = 'https://accounts.google.com';

/**
 * Channels of YouTube. Access lasts for an hour; the refresh token stays the same, and ends after seven days as long as
 * the app is in testing.
 *
 * Source: https://developers.google.com/identity/protocols/oauth2/web-server
 */
export const youtubeOauth = ({ app, endpoints, apiUrl }: YoutubeOauthSettings): Oauth =>
  codeFlowOauth({
    serverFor(context) {
      const at = context.sandboxUrl === null ? endpoints : atSandbox(context.sandboxUrl);
      return {
        name: 'Google',
        ...appOf(context, app, 'YouTube'),
        ...at,
        ...(at.authorizeUrl.startsWith(`${google}/`) && { issuer: google }),
        secretIn: 'form',
        usesPkce: true,
        scopes: Object.keys(wishes),
        // Without both a person who was here before gets no refresh token.
        parameters: { access_type: 'offline', prompt: 'consent' },
      };
    },
    async accountsOf({ http, sandboxUrl }, grant, tokens) {
      assertComplete(grant, tokens);
      const baseUrl = sandboxUrl === null ? apiUrl : `${sandboxUrl}/youtube`;
      return youtubeAccounts(http, { baseUrl, accessToken: grant.accessToken });
    },
  });

/** People may tick some boxes only. @throws OauthError */
function assertComplete({ refreshToken }: Grant, { scopes }: Tokens): void {
  const left = Object.entries(wishes).flatMap(([scope, label]) =>
    scopes === null || scopes.includes(scope) ? [] : [`"${label}"`],
  );
  if (left.length > 0) {
    const message = `Google was not told to allow all that is needed. Start over, and tick ${left.join(' and ')}.`;
    throw new OauthError('denied', message);
  }
  if (refreshToken === null) {
    const message = 'Google gave access for an hour only. Start over, and allow it once more.';
    throw new OauthError('unavailable', message);
  }
}

const atSandbox = (url: string): Endpoints => ({
  authorizeUrl: `${url}/youtube/o/oauth2/v2/auth`,
  tokenUrl: `${url}/youtube/token`,
});
