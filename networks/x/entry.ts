import { address } from '../../runtime/config/read-values.ts';
import type { Entry } from '../entry.ts';
import { connectX } from './connect.ts';
import { readPrices } from './prices.ts';
import { xRules } from './rules.ts';

export const x: Entry = (env, problems) => {
  const apiUrl = address(env, 'PUNCTUAL_X_API_URL', 'https://api.x.com', problems);
  const rules = xRules(readPrices(env, problems));
  return {
    rules,
    adapter: async () => (await import('./adapter.ts')).xNetwork(rules),
    connector: {
      summary: 'Connects an X account.',
      options: {
        url: { placeholder: 'https://api.x.com', required: false },
        'web-url': { placeholder: 'https://x.com', required: false },
      },
      secret: 'token',
      connect: (http, { url: baseUrl = apiUrl, 'web-url': webUrl, token: accessToken = '' }) =>
        connectX(http, { baseUrl, accessToken, ...(webUrl ? { webUrl } : {}) }),
      sandbox: (url) => ({ url: `${url}/x`, token: 'demo', 'web-url': `${url}/x` }),
    },
  };
};
