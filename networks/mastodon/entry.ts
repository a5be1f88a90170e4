import type { NetworkEntry, ProfileUrl } from '../network-entry.ts';
import { checkMastodon, connectMastodon } from './connect.ts';
import { rules } from './rules.ts';
import { readLimits } from './settings.ts';

/** Uses only the name in the handle, because the account's domain may differ from the server's host. */
const profileUrl: ProfileUrl = ({ baseUrl, handle }) => {
  const name = /^@(?<name>[^@]+)@/v.exec(handle)?.groups?.['name'];
  return name === undefined ? null : `${baseUrl}/@${encodeURIComponent(name)}`;
};

export const mastodon: NetworkEntry = () => ({
  rules,
  adapter: async () => (await import('./adapter.ts')).mastodonNetwork,
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
