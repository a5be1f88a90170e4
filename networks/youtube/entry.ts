import { address } from '../../runtime/config/read-values.ts';
import { readAllowance } from '../allowance.ts';
import type { NetworkEntry } from '../network-entry.ts';
import { readApp } from '../oauth/app-settings.ts';
import { unitsOf } from './allowance.ts';
import { checkYoutube, connectYoutube } from './connect.ts';
import { rules } from './rules.ts';
import { profileUrl } from './settings.ts';

export const youtube: NetworkEntry = (env, problems) => {
  const apiUrl = address(env, 'PUNCTUAL_YOUTUBE_API_URL', 'https://www.googleapis.com', problems);
  const read = (name: string, otherwise: string) => address(env, name, otherwise, problems);
  const app = readApp(env, ['PUNCTUAL_YOUTUBE_CLIENT_ID', 'PUNCTUAL_YOUTUBE_CLIENT_SECRET']);
  const endpoints = {
    authorizeUrl: read(
      'PUNCTUAL_YOUTUBE_AUTHORIZE_URL',
      'https://accounts.google.com/o/oauth2/v2/auth',
    ),
    tokenUrl: read('PUNCTUAL_YOUTUBE_TOKEN_URL', 'https://oauth2.googleapis.com/token'),
  };
  const allowance = readAllowance(env, problems, {
    setting: 'PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY',
    otherwise: 5000,
    unit: 'units',
    cost: unitsOf,
  });
  return {
    rules,
    adapter: async () => ({ ...(await import('./adapter.ts')).youtubeNetwork, allowance }),
    connector: {
      summary: 'Connects a YouTube channel.',
      options: { url: { placeholder: apiUrl, required: false } },
      secret: 'token',
      connect: (http, { url: baseUrl = apiUrl, token: accessToken = '' }) =>
        connectYoutube(http, { baseUrl, accessToken }),
      sandbox: (url) => ({ url: `${url}/youtube`, token: 'demo' }),
    },
    oauth: {
      name: 'YouTube',
      missing: app.missing,
      fields: {},
      load: async () => (await import('./oauth.ts')).youtubeOauth({ app, endpoints, apiUrl }),
    },
    check: checkYoutube,
    profileUrl,
  };
};
