import { textSetting, type Env } from '../../runtime/config/settings.ts';
import type { NetworkEntry } from '../network-entry.ts';
import { readSite } from '../oauth/site.ts';
import { checkLinkedin, connectLinkedin } from './connect.ts';
import { linkedinApiUrl, postPages, profileUrl, rules } from './rules.ts';

/** Current in the autumn of 2026; LinkedIn supports a version for a year. */
const defaultVersion = '202609';

export const linkedin: NetworkEntry = (env, problems) => {
  const site = readSite(env, problems, 'LinkedIn', {
    apiUrl: ['PUNCTUAL_LINKEDIN_API_URL', linkedinApiUrl],
    app: ['PUNCTUAL_LINKEDIN_CLIENT_ID', 'PUNCTUAL_LINKEDIN_CLIENT_SECRET'],
    authorizeUrl: 'https://www.linkedin.com/oauth/v2/authorization',
    tokenUrl: 'https://www.linkedin.com/oauth/v2/accessToken',
  });
  const version = textSetting(env, 'PUNCTUAL_LINKEDIN_VERSION', defaultVersion);
  if (!/^20[0-9]{2}(?:0[1-9]|1[0-2])$/v.test(version)) {
    problems.push(
      `PUNCTUAL_LINKEDIN_VERSION must be a year and a month such as ${defaultVersion}, not "${version}".`,
    );
  }

  const scopes = scopesIn(env, problems);
  return {
    rules,
    adapter: async () => (await import('./adapter.ts')).createLinkedinNetwork(version),
    connector: {
      summary: 'Connects a LinkedIn member, or the page of an organisation that the member runs.',
      options: {
        organization: { placeholder: 'urn:li:organization:1234', required: false },
        url: { placeholder: site.apiUrl, required: false },
      },
      secret: 'token',
      connect: (http, { url, organization, token: accessToken = '' }) => {
        const baseUrl = url || site.apiUrl;
        return connectLinkedin(http, { baseUrl, accessToken, organization, version });
      },
      sandbox: (url) => ({ url: `${url}/linkedin`, token: 'demo' }),
    },
    oauth: {
      name: 'LinkedIn',
      missing: site.missing,
      fields: {},
      asksOnce: true,
      load: async () => (await import('./oauth.ts')).linkedinOauth(site, { scopes, version }),
    },
    profileUrl,
    postPages,
    check: (connection) => checkLinkedin(connection, version),
  };
};

function scopesIn(env: Env, problems: string[]): readonly string[] {
  const given = textSetting(env, 'PUNCTUAL_LINKEDIN_SCOPES', 'openid profile w_member_social');
  const scopes = given.split(/[\s,]+/v).filter(Boolean);
  if (scopes.length === 0 || !scopes.every((scope) => /^[a-z0-9_]+$/iv.test(scope))) {
    problems.push(
      `PUNCTUAL_LINKEDIN_SCOPES must be scope names separated by spaces, not "${given}".`,
    );
  }

  return scopes;
}
