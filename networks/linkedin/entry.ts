import { address, text } from '../../runtime/config/read-values.ts';
import type { Entry } from '../entry.ts';
import { linkedinApiUrl } from './settings.ts';
import { rules } from './rules.ts';

/** In use in the autumn of 2026; LinkedIn keeps a version for a year. */
const defaultVersion = '202609';

export const linkedin: Entry = (env, problems) => {
  const apiUrl = address(env, 'PUNCTUAL_LINKEDIN_API_URL', linkedinApiUrl, problems);
  const version = text(env, 'PUNCTUAL_LINKEDIN_VERSION', defaultVersion);
  if (!/^20[0-9]{2}(?:0[1-9]|1[0-2])$/v.test(version)) {
    problems.push(
      `PUNCTUAL_LINKEDIN_VERSION must be a year and a month such as ${defaultVersion}, not "${version}".`,
    );
  }

  return {
    rules,
    adapter: async () => (await import('./adapter.ts')).createLinkedin(version),
    connector: {
      summary: 'Connects a LinkedIn member, or the page of an organisation that the member runs.',
      options: {
        organization: { placeholder: 'urn:li:organization:1234', required: false },
        url: { placeholder: apiUrl, required: false },
      },
      secret: 'token',
      connect: async (http, { url, organization, token: accessToken = '' }) => {
        const { connectLinkedin } = await import('./connect.ts');
        return connectLinkedin(http, {
          baseUrl: url || apiUrl,
          accessToken,
          organization,
          version,
        });
      },
      sandbox: (url) => ({ url: `${url}/linkedin`, token: 'demo' }),
    },
  };
};
