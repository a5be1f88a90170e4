import { address } from '../../runtime/config/read-values.ts';
import type { Entry } from '../entry.ts';
import { connectYoutube } from './connect.ts';
import { rules } from './rules.ts';

export const youtube: Entry = (env, problems) => {
  const apiUrl = address(env, 'PUNCTUAL_YOUTUBE_API_URL', 'https://www.googleapis.com', problems);
  return {
    rules,
    adapter: async () => (await import('./adapter.ts')).youtube,
    connector: {
      summary: 'Connects a YouTube channel.',
      options: { url: { placeholder: apiUrl, required: false } },
      secret: 'token',
      connect: (http, { url: baseUrl = apiUrl, token: accessToken = '' }) =>
        connectYoutube(http, { baseUrl, accessToken }),
      sandbox: (url) => ({ url: `${url}/youtube`, token: 'demo' }),
    },
  };
};
