import type { Entry } from '../entry.ts';
import { rules } from './rules.ts';

export const bluesky: Entry = () => ({
  rules,
  adapter: async () => (await import('./adapter.ts')).bluesky,
  connector: {
    summary: 'Connects a Bluesky account with an app password.',
    options: {
      url: { placeholder: 'https://bsky.social', required: true },
      handle: { placeholder: 'me.bsky.social', required: true },
      'web-url': { placeholder: 'https://bsky.app', required: false },
    },
    secret: 'app-password',
    connect: async (http, values) => {
      const { url: baseUrl = '', handle: identifier = '' } = values;
      const { 'app-password': appPassword = '', 'web-url': webUrl } = values;
      const { connectBluesky } = await import('./connect.ts');
      const login = { baseUrl, identifier, appPassword, ...(webUrl ? { webUrl } : {}) };
      return connectBluesky(http, login);
    },
    sandbox: (url) => ({
      url,
      handle: 'demo.sandbox.test',
      'app-password': 'demo',
      'web-url': `${url}/bluesky`,
    }),
  },
});
