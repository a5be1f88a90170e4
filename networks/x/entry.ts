import { wholeNumber, type Env } from '../../runtime/config/settings.ts';
import { type NetworkEntry, readAllowance } from '../network-entry.ts';
import { readSite } from '../oauth/site.ts';
import { checkX, connectX, postPages, profileUrl } from './connect.ts';
import { defaultReads } from './metrics.ts';
import { readPrices, xRules } from './rules.ts';

export const x: NetworkEntry = (env, problems) => {
  const site = readSite(env, problems, 'X', {
    apiUrl: ['PUNCTUAL_X_API_URL', 'https://api.x.com'],
    app: ['PUNCTUAL_X_CLIENT_ID', 'PUNCTUAL_X_CLIENT_SECRET'],
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
  });
  const reads = readReads(env, problems);
  const allowance = readAllowance(env, problems, {
    setting: 'PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY',
    otherwise: 1000,
    unit: 'posts',
    cost: () => 1,
  });
  const rules = xRules(readPrices(env, problems), reads.everyHours);
  return {
    rules,
    adapter: async () => ({
      ...(await import('./adapter.ts')).createXNetwork(rules, reads.perMonth),
      allowance,
    }),
    connector: {
      summary: 'Connects an X account.',
      options: {
        url: { placeholder: 'https://api.x.com', required: false },
        'web-url': { placeholder: 'https://x.com', required: false },
      },
      secret: 'token',
      connect: (http, { url: baseUrl = site.apiUrl, 'web-url': webUrl, token: accessToken = '' }) =>
        connectX(http, { baseUrl, accessToken, ...(webUrl ? { webUrl } : {}) }),
      sandbox: (url) => ({ url: `${url}/x`, token: 'demo', 'web-url': `${url}/x` }),
    },
    oauth: {
      missing: site.missing,
      fields: {},
      load: async () => (await import('./oauth.ts')).xOauth(site),
    },
    check: checkX,
    profileUrl,
    postPages,
  };
};

const readReads = (env: Env, problems: string[]): typeof defaultReads => ({
  everyHours: wholeNumber(
    env,
    'PUNCTUAL_X_METRICS_EVERY_HOURS',
    { otherwise: defaultReads.everyHours, least: 1, most: 8760 },
    problems,
  ),
  perMonth: wholeNumber(
    env,
    'PUNCTUAL_X_METRIC_READS_PER_MONTH',
    { otherwise: defaultReads.perMonth, least: 0, most: 1_000_000_000 },
    problems,
  ),
});
