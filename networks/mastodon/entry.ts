import type { Entry, ProfileUrl } from '../entry.ts';
import { checkMastodon, connectMastodon } from './connect.ts';
import { readLimits } from './read-limits.ts';
import { rules } from './rules.ts';

/** Its server may say the account's domain otherwise, so that only the name in the handle counts. */
const profileUrl: ProfileUrl = ({ baseUrl, handle }) => {
  const name = /^@(?<name>[^@]+)@/v.exec(handle)?.groups?.['name'];
  return name === undefined ? null : `${baseUrl}/@${encodeURIComponent(name)}`;
};

export const mastodon: Entry = () => ({
  rules,
  adapter: async () => (await import('./adapter.ts')).mastodon,
  limits: readLimits,
  connector: {
    summary: 'Connects a Mastodon account, or one of a server that speaks its API.',
    options: { url: { placeholder: 'https://mastodon.example', required: true } },
    secret: 'token',
    connect: (http, { url: baseUrl = '', token: accessToken = '' }) =>
      connectMastodon(http, { baseUrl, accessToken }),
    sandbox: (url) => ({ url, token: 'demo' }),
  },
  oauth: {
    missing: [],
    fields: { url: { label: 'Your server', placeholder: 'mastodon.social', required: true } },
    load: async () => (await import('./oauth.ts')).mastodonOauth,
  },
  check: checkMastodon,
  profileUrl,
});
