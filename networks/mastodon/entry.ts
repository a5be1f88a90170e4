import { pathOn, type NetworkEntry, type PostPages, type ProfileUrl } from '../network-entry.ts';
import { checkMastodon, connectMastodon } from './connect.ts';
import { rules } from './rules.ts';
import { readLimits } from './settings.ts';

/** Uses only the name in the handle, because the account's domain may differ from the server's host. */
const nameIn = (handle: string): string | undefined =>
  /^@(?<name>[^@]+)@/v.exec(handle)?.groups?.['name'];

const profileUrl: ProfileUrl = ({ baseUrl, handle }) => {
  const name = nameIn(handle);
  return name === undefined ? null : `${baseUrl}/@${encodeURIComponent(name)}`;
};

/** On Mastodon and GoToSocial (the first two), Pixelfed, Pleroma, and the sandbox, which serves it under `/mastodon`. */
const postPaths = [
  /\/@(?<name>[\w.\-]+)\/(?:statuses\/)?(?<id>[\w\-]{1,64})\/?$/v,
  /\/users\/(?<name>[\w.\-]+)\/statuses\/(?<id>[\w\-]{1,64})\/?$/v,
  /^\/p\/(?<name>[\w.\-]+)\/(?<id>[\w\-]{1,64})\/?$/v,
  /^\/notice\/(?<id>[\w\-]{1,64})\/?$/v,
  /^\/objects\/[\w\-]{1,64}\/?$/v, // A UUID, which is not the post's id.
];

const postPages: PostPages = {
  idAt: ({ baseUrl, handle }, url) => {
    const path = pathOn(baseUrl, url) ?? '';
    const match = postPaths.map((pattern) => pattern.exec(path)).find((found) => found !== null);
    const { name, id = null } = match?.groups ?? {};
    const isOwn = name === undefined || name.toLowerCase() === nameIn(handle)?.toLowerCase();
    return match && isOwn ? { id } : null;
  },
  example: (account) => `${profileUrl(account) ?? `${account.baseUrl}/@me`}/{id}`,
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
  postPages,
});
