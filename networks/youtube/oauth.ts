import { codeFlowOauth } from '../oauth/code-flow.ts';
import { OauthError, type Grant, type Oauth } from '../oauth/contract.ts';
import type { Site } from '../oauth/site.ts';
import type { Tokens } from '../oauth/token-endpoint.ts';
import { youtubeAccounts } from './connect.ts';

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
export const youtubeOauth = (site: Site): Oauth =>
  codeFlowOauth({
    serverFor(context) {
      const server = site.serverFor(context);
      return {
        name: 'Google',
        ...server,
        ...(server.authorizeUrl.startsWith(`${google}/`) && { issuer: google }),
        secretIn: 'form',
        usesPkce: true,
        scopes: Object.keys(scopeLabels),
        // Without both, a person who connected before gets no refresh token.
        parameters: { access_type: 'offline', prompt: 'consent' },
      };
    },
    async accountsOf(context, grant, tokens) {
      assertComplete(grant, tokens);
      const baseUrl = site.apiFor(context);
      return youtubeAccounts(context.http, { baseUrl, accessToken: grant.accessToken });
    },
  });

/** People may tick only some checkboxes. */
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
