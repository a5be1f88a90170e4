import type { Endpoints } from '../oauth/authorization-server.ts';
import { codeFlowOauth } from '../oauth/code-flow.ts';
import {
  OauthError,
  type Grant,
  type Oauth,
  appOf,
  type ConfiguredApp,
} from '../oauth/contract.ts';
import type { Tokens } from '../oauth/tokens.ts';
import { youtubeAccounts } from './connect.ts';

type YoutubeOauthSettings = {
  readonly app: ConfiguredApp;
  readonly endpoints: Endpoints;
  readonly apiUrl: string;
};

/** The scopes, with the labels of their checkboxes on Google's page. */
const scopeLabels: Readonly<Record<string, string>> = {
  'https://www.googleapis.com/auth/youtube.upload': 'Manage your YouTube videos',
  'https://www.googleapis.com/auth/youtube.readonly': 'View your YouTube account',
  'https://www.googleapis.com/auth/youtube.force-ssl':
    'See, edit, and permanently delete your YouTube videos, ratings, comments and captions',
};

const google = 'https://accounts.google.com';

/**
 * Connects YouTube channels. Access lasts for an hour. The refresh token does not change, and expires after seven days
 * while the app is in testing.
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
        scopes: Object.keys(scopeLabels),
        // Without both, a person who connected before gets no refresh token.
        parameters: { access_type: 'offline', prompt: 'consent' },
      };
    },
    async accountsOf({ http, sandboxUrl }, grant, tokens) {
      assertComplete(grant, tokens);
      const baseUrl = sandboxUrl === null ? apiUrl : `${sandboxUrl}/youtube`;
      return youtubeAccounts(http, { baseUrl, accessToken: grant.accessToken });
    },
  });

/** People may tick only some checkboxes. @throws OauthError */
function assertComplete({ refreshToken }: Grant, { scopes }: Tokens): void {
  const left = Object.entries(scopeLabels).flatMap(([scope, label]) =>
    scopes === null || scopes.includes(scope) ? [] : [`"${label}"`],
  );
  if (left.length > 0) {
    const message = `Google did not get all the permissions that are needed. Start over, and tick ${left.join(' and ')}.`;
    throw new OauthError('denied', message);
  }
  if (refreshToken === null) {
    const message = 'Google gave access for only an hour. Start over, and allow it again.';
    throw new OauthError('unavailable', message);
  }
}

const atSandbox = (url: string): Endpoints => ({
  authorizeUrl: `${url}/youtube/o/oauth2/v2/auth`,
  tokenUrl: `${url}/youtube/token`,
});
